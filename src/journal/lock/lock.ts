import { type FileHandle, open, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { privateFileMode } from '../../base/files/private-files.ts'
import { UnusableFileError } from '../../base/files/unusable-file.ts'
import { systemErrorCode } from '../../base/problem.ts'
import { flockProgram, type KernelLock, nativeLock } from './kernel-lock.ts'
import { takeLockFile } from './process-lock-file.ts'

const lockFileName = '.host.lock'
/** Beside the other, so that it is never taken for an open file that somebody has locked. */
const processLockFileName = '.host.lock.pid'

/** Each time round, another start has failed just then; a file system that numbers a file anew each time has no end of it. */
const mostTries = 50

export interface DirectoryLock {
  /** `withFile`: removes the lock file as well, if this process made it: a start that failed leaves nothing. */
  release(options?: { withFile: boolean }): Promise<void>
}

/**
 * Takes the data directory for this process. The lock is the kernel's, on an open file: it goes with the
 * process, whatever ends it, so there is no stale lock. Where none of `kernelLocks` works, a file that names the
 * process takes its place. Returns undefined when another host has it. Throws `UnusableFileError` where the lock file is not
 * this process's to use, as in a directory in which root has been before.
 */
export async function lockDirectory(
  directory: string,
  kernelLocks?: readonly KernelLock[],
  triesLeft = mostTries,
): Promise<DirectoryLock | undefined> {
  const path = join(directory, lockFileName)
  const { handle, created } = await openLockFile(path)
  for (const lock of kernelLocks ?? [await nativeLock(), flockProgram]) {
    const outcome = lock(handle.fd)
    if (outcome === 'not available') continue
    if (outcome === 'taken' && (await isAt(path, handle)))
      return { release: (options) => release(handle, created ? path : undefined, options) }
    await handle.close()
    // A start that failed took its file away between the two calls: the next host makes another one, and locks that.
    if (outcome !== 'taken') return undefined
    if (triesLeft === 1) throw new Error(`${lockFileName} is another file each time that it is looked at`)
    return lockDirectory(directory, kernelLocks, triesLeft - 1)
  }
  await release(handle, created ? path : undefined, { withFile: true })
  const remove = await takeLockFile(join(directory, processLockFileName))
  return remove === undefined ? undefined : { release: remove }
}

/** Whether it is still the file of that name. Nobody's has its number while it is open; it is closed where nobody can tell. */
async function isAt(path: string, handle: FileHandle): Promise<boolean> {
  try {
    const own = await handle.stat({ bigint: true })
    const found = await stat(path, { bigint: true })
    return found.ino === own.ino && found.dev === own.dev
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return false
    await handle.close()
    throw error
  }
}

/** What the system says of one file; all else is about the disk. */
const ofThatFile: ReadonlySet<string | undefined> = new Set(['EACCES', 'EISDIR', 'EPERM'])

/** Whoever made the file may take it away between the two calls: then it is made again, and known to be made here. */
async function openLockFile(path: string): Promise<{ handle: FileHandle; created: boolean }> {
  for (;;) {
    const made = await openUnless('EEXIST', path, 'wx+')
    if (made !== undefined) return { handle: made, created: true }
    const found = await openUnless('ENOENT', path, 'r+').catch((error: unknown) => {
      throw ofThatFile.has(systemErrorCode(error)) ? new UnusableFileError(path, error) : error
    })
    if (found !== undefined) return { handle: found, created: false }
  }
}

async function openUnless(code: string, path: string, flags: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, flags, privateFileMode)
  } catch (error) {
    if (systemErrorCode(error) === code) return undefined
    throw error
  }
}

async function release(
  handle: FileHandle,
  madeHere: string | undefined,
  options?: { withFile: boolean },
): Promise<void> {
  if (madeHere !== undefined && options?.withFile) await rm(madeHere, { force: true })
  await handle.close()
}
