import { basename } from 'node:path'
import { messageOf, Problem, systemErrorCode } from '../problem.ts'
import type { FileSystem } from './file-system.ts'
import { makePrivateDirectory } from './private-files.ts'

/** Saying plainly why the data directory cannot be written. */

const reasons: Readonly<Record<string, string>> = {
  ENOSPC:
    'The disk of the data directory is full; free some space, or delete files where df -i shows that no more fit, and try again.',
  EDQUOT: 'The disk quota of the data directory is used up; free some space and try again.',
  EFBIG:
    'A file of the data directory is as large as this process may make one; raise the limit (ulimit -f) and try again.',
  EROFS: 'The data directory is on a read-only file system; mount it writable and try again.',
  EACCES: 'The host may not write to the data directory; give its user the right to and try again.',
  EPERM: 'The host may not write to the data directory; give its user the right to and try again.',
  EIO: 'The disk of the data directory reports an error; check it and try again.',
  EBUSY:
    'A folder of the data directory is in use, or mounted by itself, and cannot be replaced; unmount it, mount all of the data directory instead, and try again.',
  EXDEV:
    'The folders in the data directory are not on one file system, or in a layer of a container image; put all of the data directory on one volume, and try again.',
  ESTALE:
    'The data directory is not the one any more that the host was started in: it was moved, replaced or unmounted; put it back, or start the host again.',
  ENODEV:
    'The file system of the data directory maps no files into memory (mmap), or its disk is gone; mount it so that it does (mergerfs: cache.files=auto-full), or put the data directory on another one, and try again.',
  EMFILE: 'The host has too many files open; raise the limit (ulimit -n) and try again.',
  ENOMEM: 'The machine has no memory left; close other programs and try again.',
  ENFILE: 'The machine has too many files open; close other programs and try again.',
}

/** One sentence with what to do; undefined when it was not the disk that refused. */
export function storageFault(error: unknown): string | undefined {
  return reasons[systemErrorCode(error) ?? '']
}

const noRoom = 'free some space on its disk'
const noRight = 'correct its permissions, or those of its folder, or name another place'
const fileInTheWay = 'a file stands where its folder must be, so name another place'

/** What to do about a file that is not of the data directory. */
const adviceElsewhere: Readonly<Record<string, string>> = {
  ENOSPC: noRoom,
  EDQUOT: noRoom,
  EACCES: noRight,
  EPERM: noRight,
  EROFS: 'its file system is read-only, so name another place',
  EISDIR: 'it is a folder, so name a file',
  EEXIST: fileInTheWay,
  ENOENT: 'its folder is not there, so make that first',
  ENOTDIR: fileInTheWay,
  EIO: 'its disk reports an error, so check that',
}

/** One sentence about a file that was named by whoever runs a command, and cannot be written. */
export function unwritableError(path: string, error: unknown): Error {
  const code = systemErrorCode(error) ?? messageOf(error)
  const advice = adviceElsewhere[code]
  return new Error(`${path} cannot be written (${code})${advice === undefined ? '' : `: ${advice}`}.`, {
    cause: error,
  })
}

/** A start meets what somebody has put there; later on such a code says that a plugin's own names do not go together. */
const reasonsAtStart: Readonly<Record<string, string>> = {
  ENOTDIR: 'Something else is where a folder of the data directory should be; move it away and try again.',
}

/** The same for who starts the host, with the system's own words, which name the file or folder. */
export function startStorageFault(error: unknown): string | undefined {
  const isTold = error instanceof Problem && error.code === 'storage_full'
  const [reason, cause] = isTold ? [error.message, error.cause] : [reasonAtStart(error), error]
  if (reason === undefined || cause === undefined) return reason
  const words = messageOf(cause)
  return reason.includes(words) ? reason : `${reason} (${words})`
}

function reasonAtStart(error: unknown): string | undefined {
  return storageFault(error) ?? reasonsAtStart[systemErrorCode(error) ?? '']
}

/** Runs a task that writes. Rejects with the problem `storage_full` for what the disk refuses, else with the task's own error. */
export async function asStorageProblem<T>(task: () => Promise<T>): Promise<T> {
  try {
    return await task()
  } catch (error) {
    const reason = storageFault(error)
    throw reason === undefined ? error : new Problem('storage_full', reason, { cause: error })
  }
}

/**
 * Makes a folder of the data directory, as `makePrivateDirectory`. What somebody has put in its place stays, and is told as
 * `storage_full`. Not for folders that a plugin names: its own names may not go together.
 */
export async function makeDataFolder(files: FileSystem, path: string): Promise<void> {
  try {
    await makePrivateDirectory(files, path)
  } catch (error) {
    const code = systemErrorCode(error)
    if (code !== 'EEXIST' && code !== 'ENOTDIR') throw error
    const place = error instanceof Error && 'path' in error ? String(error.path) : path
    throw new Problem(
      'storage_full',
      `Something else is where the folder ${basename(place)} of the data directory should be (a file, or a link that leads nowhere); move it away, or put back what it leads to, and try again.`,
      { cause: error },
    )
  }
}
