import type { FileHandle } from 'node:fs/promises'
import { type FileSystem, systemFileSystem } from '../../src/base/file-system.ts'

/** Operations that can be made to fail. */
export type FileOperation = 'open' | 'write' | 'writeFile' | 'datasync' | 'sync' | 'truncate' | 'rename'

/** The real file system, but for the calls that `shouldFail` picks: those fail as a full disk does. */
export function failingFileSystem(
  shouldFail: (operation: FileOperation, path: string) => boolean,
): FileSystem {
  const refuse = (operation: FileOperation, path: string): void => {
    if (!shouldFail(operation, path)) return
    throw Object.assign(new Error(`ENOSPC: no space left on device, ${operation}`), { code: 'ENOSPC' })
  }
  return {
    ...systemFileSystem,
    async open(path, flags, mode) {
      refuse('open', String(path))
      const handle = await systemFileSystem.open(path, flags, mode)
      return withFailures(handle, (operation) => refuse(operation, String(path)))
    },
    async rename(from, to) {
      refuse('rename', String(to))
      await systemFileSystem.rename(from, to)
    },
  }
}

const watched = new Set<PropertyKey>(['write', 'writeFile', 'datasync', 'sync', 'truncate'])

function withFailures(handle: FileHandle, refuse: (operation: FileOperation) => void): FileHandle {
  return new Proxy(handle, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      if (!watched.has(name)) return member.bind(target)
      return async (...given: unknown[]) => {
        // Half of it reaches the disk, as it may when the disk is full.
        if (name === 'write' && given[0] instanceof Buffer) {
          try {
            refuse('write')
          } catch (error) {
            const [bytes, offset, length, position] = given as [Buffer, number, number, number]
            await target.write(bytes, offset, Math.floor(length / 2), position)
            throw error
          }
        } else refuse(name as FileOperation)
        return Reflect.apply(member, target, given)
      }
    },
  })
}
