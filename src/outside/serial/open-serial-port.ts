import type { SerialPort } from 'serialport'
import { isSystemFault } from '../../base/files/system-fault.ts'
import { messageOf } from '../../base/problem.ts'
import type { SerialSettings } from '../../schema/outside/connection.ts'
import { detectHangUp } from './hang-up.ts'
import { wakeForPoller } from './wake-for-poller.ts'
import { serialLibrary } from './serial-library.ts'
import { refuseSerialPath } from './serial-path.ts'

/** Why a port could not be opened. `isTransient`: another attempt may do better. */
export class SerialFailure extends Error {
  override readonly name = 'SerialFailure'
  readonly isTransient: boolean

  constructor(message: string, isTransient: boolean) {
    super(message)
    this.isTransient = isTransient
  }
}

/** Opens a port for nobody else. Rejects with `SerialFailure`, or with what the host is short of. */
export async function openSerialPort(settings: SerialSettings): Promise<SerialPort> {
  const { path } = settings
  const refusal = await refuseSerialPath(path)
  if (refusal !== undefined) throw new SerialFailure(refusal.reason, refusal.isTransient)
  const library = await serialLibrary().catch((error: unknown) => {
    throw new SerialFailure(messageOf(error), isSystemFault(error))
  })
  return new Promise((resolve, reject) => {
    const port = new library.SerialPort({ ...settings, autoOpen: false })
    port.open((error) => {
      if (error === null) {
        detectHangUp(port)
        wakeForPoller(port)
        resolve(port)
      } else reject(new SerialFailure(openFailure(error, path), true))
    })
  })
}

function openFailure(error: Error, path: string): string {
  const { message } = error
  if (/cannot lock port|access denied/i.test(message)) return `${path} is in use`
  if (/permission denied/i.test(message)) return `${path} is not for this host to open (${message})`
  return `${path} cannot be opened: ${message}`
}
