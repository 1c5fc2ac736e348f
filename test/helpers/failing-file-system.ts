import { constants } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { type FileSystem, systemFileSystem } from '../../src/base/files/file-system.ts'

/** Operations that can be made to fail. */
export type FileOperation =
  'open' | 'write' | 'writeFile' | 'datasync' | 'sync' | 'truncate' | 'rename' | 'mkdir' | 'rm' | Question

/** Those that change nothing, and the end of a file handle. */
type Question = 'stat' | 'lstat' | 'readdir' | 'readFile' | 'close'

/** The sync that each write to a file is followed by which was opened with these flags. */
export function syncOfWrites(flags: string | number | undefined): 'sync' | 'datasync' | undefined {
  if (typeof flags !== 'number') return undefined
  // The bits of O_SYNC hold those of O_DSYNC.
  if ((flags & constants.O_SYNC) === constants.O_SYNC) return 'sync'
  return (flags & constants.O_DSYNC) === constants.O_DSYNC ? 'datasync' : undefined
}

/** Ways in which a file system refuses, by Node's error code. */
export const diskErrors = {
  ENOSPC: 'no space left on device',
  EDQUOT: 'disk quota exceeded',
  EIO: 'i/o error',
  EROFS: 'read-only file system',
  EMFILE: 'too many open files',
  EFBIG: 'file too large',
} as const
export type DiskError = keyof typeof diskErrors

/**
 * The real file system, but for the calls that `shouldFail` picks: those fail as a full disk does, or with the
 * error that it names. Half of what was to be written reaches the disk all the same. With `shortWrites` no call
 * writes more than half of what it is given, and says so, as it may. Only with `questions` those are picked from, too.
 */
export function failingFileSystem(
  shouldFail: (operation: FileOperation, path: string) => boolean | DiskError,
  { shortWrites = false, questions = false } = {},
): FileSystem {
  const refuse = (operation: FileOperation, path: string): void => {
    const answer = shouldFail(operation, path)
    if (answer === false) return
    const code = answer === true ? 'ENOSPC' : answer
    throw Object.assign(new Error(`${code}: ${diskErrors[code]}, ${operation}`), { code })
  }
  /** Of a path, which it is given first. */
  function asked<Task extends FileSystem[Question & keyof FileSystem]>(
    operation: Question,
    task: Task,
  ): Task {
    if (!questions) return task
    const ask = async (...given: unknown[]): Promise<unknown> => {
      refuse(operation, String(given[0]))
      return Reflect.apply(task, undefined, given)
    }
    // All of the overloads are handed on.
    return ask as Task
  }
  return {
    ...systemFileSystem,
    stat: asked('stat', systemFileSystem.stat),
    lstat: asked('lstat', systemFileSystem.lstat),
    readdir: asked('readdir', systemFileSystem.readdir),
    readFile: asked('readFile', systemFileSystem.readFile),
    async open(path, flags, mode) {
      refuse('open', String(path))
      const handle = await systemFileSystem.open(path, flags, mode)
      const refuseHere = (operation: FileOperation): void => refuse(operation, String(path))
      return withFailures(handle, refuseHere, { shortWrites, questions, syncAfter: syncOfWrites(flags) })
    },
    async rename(from, to) {
      refuse('rename', String(to))
      await systemFileSystem.rename(from, to)
    },
    mkdir: (async (path: string, options: { recursive: boolean }) => {
      refuse('mkdir', path)
      return systemFileSystem.mkdir(path, options)
      // One of the overloads is all that the host uses.
    }) as FileSystem['mkdir'],
    async rm(path, options) {
      refuse('rm', String(path))
      await systemFileSystem.rm(path, options)
    },
  }
}

const watched = new Set<PropertyKey>(['write', 'writeFile', 'datasync', 'sync', 'truncate'])
const questionsOfHandles = new Set<PropertyKey>(['stat', 'close'])

function withFailures(
  handle: FileHandle,
  refuse: (operation: FileOperation) => void,
  {
    shortWrites,
    questions,
    syncAfter,
  }: { shortWrites: boolean; questions: boolean; syncAfter: 'sync' | 'datasync' | undefined },
): FileHandle {
  return new Proxy(handle, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      if (!watched.has(name) && !(questions && questionsOfHandles.has(name))) return member.bind(target)
      return async (...given: unknown[]) => {
        try {
          refuse(name as FileOperation)
        } catch (error) {
          if (name === 'write') await writeHalf(target, given)
          if (name === 'writeFile') await target.writeFile(halfOf(given[0] as string | Uint8Array))
          // It is closed whatever the system says.
          if (name === 'close') await target.close()
          throw error
        }
        const isHalf = name === 'write' && shortWrites
        const result: unknown = await (isHalf
          ? writeHalf(target, given)
          : Reflect.apply(member, target, given))
        if (syncAfter !== undefined && (name === 'write' || name === 'writeFile')) refuse(syncAfter)
        return result
      }
    },
  })
}

async function writeHalf(handle: FileHandle, given: unknown[]): Promise<{ bytesWritten: number }> {
  const [bytes, offset, length, position] = given as [Buffer, number, number, number]
  return handle.write(bytes, offset, Math.max(1, Math.floor(length / 2)), position)
}

function halfOf<T extends string | Uint8Array>(content: T): T {
  return content.slice(0, Math.floor(content.length / 2)) as T
}
