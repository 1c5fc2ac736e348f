import { readdir, readFile, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { SerialPortView } from '../../schema/outside/outside.ts'

/** What a port without a chip behind it has in `type`. */
const noHardware = '0'
/** Folders from a port of a USB device up to the device. */
const levelsToDevice = 4

/**
 * Serial ports as Linux has them below `/sys/class/tty`. The library would ask `udevadm`, which containers do not have.
 * `root`: another one for tests.
 */
export async function linuxPorts(root = '/sys/class/tty'): Promise<SerialPortView[]> {
  const names = await readdir(root).catch(() => [])
  const ports = await Promise.all(names.map((name) => portOf(join(root, name), name)))
  return ports.filter((port) => port !== undefined)
}

async function portOf(folder: string, name: string): Promise<SerialPortView | undefined> {
  const device = await realpath(join(folder, 'device')).catch(() => undefined)
  if (device === undefined || (await textOf(join(folder, 'type'))) === noHardware) return undefined
  return { path: `/dev/${name}`, ...(await usbDevice(device)) }
}

/** What a USB device says of itself. */
async function usbDevice(device: string): Promise<Omit<SerialPortView, 'path'>> {
  let folder = device
  for (let level = 0; level < levelsToDevice; level += 1) {
    const vendorId = await textOf(join(folder, 'idVendor'))
    if (vendorId !== undefined) {
      const [productId, serialNumber, manufacturer] = await Promise.all(
        ['idProduct', 'serial', 'manufacturer'].map((name) => textOf(join(folder, name))),
      )
      return {
        vendorId,
        ...(productId === undefined ? {} : { productId }),
        ...(serialNumber === undefined ? {} : { serialNumber }),
        ...(manufacturer === undefined ? {} : { manufacturer }),
      }
    }
    folder = dirname(folder)
  }
  return {}
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch {
    return undefined
  }
}
