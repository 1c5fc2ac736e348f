import { platform } from 'node:os'
import { isSystemFault } from '../../base/files/system-fault.ts'
import { lazyImport } from '../../base/lazy-import.ts'
import { messageOf } from '../../base/problem.ts'
import type { SerialPortView } from '../../schema/outside/outside.ts'
import { linuxPorts } from './linux-ports.ts'

type Library = typeof import('serialport')

const library = lazyImport(() => import('serialport'))

/** The library for serial ports, loaded when it is first wanted. Rejects with an `Error` where it is not there. */
export async function serialLibrary(): Promise<Library> {
  try {
    return await library()
  } catch (error) {
    if (isSystemFault(error)) throw error
    throw new Error(
      `serial ports cannot be used here: the optional package serialport is not installed, or has no binary for this system (${messageOf(error)})`,
      { cause: error },
    )
  }
}

/** The serial ports of this machine, by path. Rejects with an `Error`. */
export async function listSerialPorts(): Promise<SerialPortView[]> {
  const ports = platform() === 'linux' ? await linuxPorts() : await libraryPorts()
  return ports.sort((one, other) => (one.path < other.path ? -1 : 1))
}

async function libraryPorts(): Promise<SerialPortView[]> {
  const { SerialPort } = await serialLibrary()
  const ports = await SerialPort.list()
  return ports.map(({ path, manufacturer, serialNumber, vendorId, productId }) => {
    const known = Object.entries({ manufacturer, serialNumber, vendorId, productId })
    return { path, ...Object.fromEntries(known.filter(([, value]) => value !== undefined)) }
  })
}
