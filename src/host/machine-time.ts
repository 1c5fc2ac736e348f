import { uptime } from 'node:os'
import type { FileSystem } from '../base/files/file-system.ts'
import type { MachineTime } from '../schema/journal/journal-event.ts'

/** Another one after each start of the machine. Only Linux has it. */
const bootIdPath = '/proc/sys/kernel/random/boot_id'

/** Undefined where the system does not say which run of the machine it is. */
export async function machineTime(files: FileSystem): Promise<MachineTime | undefined> {
  const text = await files.readFile(bootIdPath, 'utf8').catch(() => '')
  const boot = text.trim()
  return boot === '' ? undefined : { boot, uptime: Math.round(uptime() * 1_000) }
}
