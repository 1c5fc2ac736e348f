import { uptime } from 'node:os'
import type { FileSystem } from '../base/files/file-system.ts'
import type { SystemBoot } from '../schema/journal/journal-event.ts'

/** Another one after each start of the machine. */
const bootIdPath = '/proc/sys/kernel/random/boot_id'
/** Counters of the kernel's memory management, a line each. */
const memoryCountersPath = '/proc/vmstat'

/** Which boot of the machine this is, and how often it has killed for memory; undefined where the system does not say: only Linux does. */
export async function readSystemBoot(files: FileSystem): Promise<SystemBoot | undefined> {
  const [boot, counters] = await Promise.all(
    [bootIdPath, memoryCountersPath].map(async (path) => {
      try {
        return await files.readFile(path, 'utf8')
      } catch {
        return ''
      }
    }),
  )
  const [, memoryKills] = /^oom_kill (\d+)$/m.exec(counters ?? '') ?? []
  if (!boot || memoryKills === undefined) return undefined
  return { boot: boot.trim(), uptime: Math.round(uptime() * 1_000), memoryKills: Number(memoryKills) }
}
