import { existsSync } from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { privateFileMode } from '../../base/files/private-files.ts'
import { UnusableFileError } from '../../base/files/unusable-file.ts'
import { systemErrorCode } from '../../base/problem.ts'
import { flockProgram, type KernelLock, nativeLock } from './kernel-lock.ts'
import { takeLockFile } from './process-lock-file.ts'

const lockFileName = '.host.lock'
/** Beside the other, so that it is never taken for an open file that somebody has locked. */
const processLockFileName = '.host.lock.pid'

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
): Promise<DirectoryLock | undefined> {
  const path = join(directory, lockFileName)
  const { handle, created } = await openLockFile(path)
  for (const lock of kernelLocks ?? [await nativeLock(), flockProgram]) {
    const outcome = lock(handle.fd)
    if (outcome === 'not available') continue
    if (outcome === 'taken' && existsSync(path))
      return { release: (options) => release(handle, created ? path : undefined, options) }
    await handle.close()
    // A start that failed took its file away between the two calls: the next host would make another one, and lock that.
    return outcome === 'taken' ? lockDirectory(directory, kernelLocks) : undefined
  }
  await release(handle, created ? path : undefined, { withFile: true })
  const remove = await takeLockFile(join(directory, processLockFileName))
  return remove === undefined ? undefined : { release: remove }
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
