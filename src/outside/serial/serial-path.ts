import { readdir, readFile, realpath, stat } from 'node:fs/promises'
import { platform } from 'node:os'
import { rethrowSystemFault } from '../../base/files/system-fault.ts'

/** Why a path is not opened as a serial port. `isTransient`: it may be one later. */
export interface PathRefusal {
  reason: string
  isTransient: boolean
}

/** What Linux calls the kinds of terminals that are serial ports, or stand in for one. */
const serialKinds = new Set(['serial', 'pty:slave'])

/**
 * Looks at a path before it is opened: to open a device that is no serial port may do something (a watchdog, say), and a
 * terminal that somebody types at is not for plugins to read. Undefined: it may be opened. Linux only; elsewhere the
 * names of serial ports are no files, or stand apart from all others.
 */
export async function refuseSerialPath(path: string): Promise<PathRefusal | undefined> {
  if (platform() !== 'linux') return undefined
  const refuse = (reason: string, isTransient = false): PathRefusal => ({
    reason: `${path} ${reason}`,
    isTransient,
  })
  let device: { isCharacterDevice(): boolean; rdev: number }
  try {
    device = await stat(await realpath(path))
  } catch {
    return refuse('is not there', true)
  }
  if (!device.isCharacterDevice()) return refuse('is no serial port')
  const number = deviceNumber(device.rdev)
  const kind = terminalKind(await textOf('/proc/tty/drivers'), number)
  if (kind === undefined || !serialKinds.has(kind)) return refuse('is no serial port')
  if (await isTerminalOfSomebody(device.rdev)) return refuse('is the terminal of a running program', true)
  return undefined
}

interface DeviceNumber {
  major: number
  minor: number
}

/** As Linux puts the two into one number of 32 bits. */
function deviceNumber(rdev: number): DeviceNumber {
  return { major: (rdev >>> 8) & 0xfff, minor: (rdev & 0xff) | ((rdev >>> 12) & 0xfff00) }
}

/** The kind of terminal that has this number, by `/proc/tty/drivers`: name, node, major, minors, kind. Pure. */
export function terminalKind(drivers: string, { major, minor }: DeviceNumber): string | undefined {
  for (const line of drivers.split('\n')) {
    const [ofMajor, minors = '', kind] = line.trim().split(/\s+/).slice(-3)
    const [first, last = first] = minors.split('-').map(Number)
    if (Number(ofMajor) === major && first !== undefined && last !== undefined)
      if (minor >= first && minor <= last) return kind
  }
  return undefined
}

/** Whether a process has it as its controlling terminal (`tty_nr`, the seventh field of its `stat`). */
async function isTerminalOfSomebody(rdev: number): Promise<boolean> {
  const processes = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  for (const process of processes) {
    const text = await textOf(`/proc/${process}/stat`)
    // The name of a program may have blanks and brackets.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    if (Number(fields[4]) === rdev) return true
  }
  return false
}

/** Empty when there is none: a process may have ended meanwhile. */
async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    rethrowSystemFault(error)
    return ''
  }
}
