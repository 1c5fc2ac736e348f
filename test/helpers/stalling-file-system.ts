import { type FileSystem, systemFileSystem } from '../../src/base/files/file-system.ts'
import { journalFileName } from '../../src/journal/segments/segment.ts'

/** Who stalls a write: told when one has begun, and what it waits for. */
export interface Stall {
  begun: () => void
  over: Promise<void>
}

/** The real file system, but what is written to the journal waits for `held`, and tells when it does. */
export function stallingFileSystem(held: () => Stall | undefined): FileSystem {
  return {
    ...systemFileSystem,
    async open(path, flags, mode) {
      const handle = await systemFileSystem.open(path, flags, mode)
      if (!String(path).endsWith(journalFileName)) return handle
      return new Proxy(handle, {
        get(target, name) {
          const member: unknown = Reflect.get(target, name)
          if (typeof member !== 'function') return member
          if (name !== 'write') return member.bind(target)
          return async (...given: unknown[]) => {
            const stall = held()
            stall?.begun()
            await stall?.over
            return Reflect.apply(member, target, given) as unknown
          }
        },
      })
    },
  }
}
