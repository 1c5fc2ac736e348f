import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { tryLock } from 'fs-native-extensions'
import { privateFileMode } from '../base/private-files.ts'
import { systemErrorCode } from '../base/problem.ts'

const lockFileName = '.host.lock'

export interface DirectoryLock {
  /** `withFile`: removes the lock file as well, if this process made it: a start that failed leaves nothing. */
  release(options?: { withFile: boolean }): Promise<void>
}

/**
 * Takes the data directory for this process. The lock is the kernel's, on an open file: it goes with the
 * process, whatever ends it, so there is no stale lock. Returns undefined when another host has it.
 */
export async function lockDirectory(directory: string): Promise<DirectoryLock | undefined> {
  const path = join(directory, lockFileName)
  let created = true
  const handle = await open(path, 'wx+', privateFileMode).catch((error: unknown) => {
    if (systemErrorCode(error) !== 'EEXIST') throw error
    created = false
    return open(path, 'a+', privateFileMode)
  })
  if (!tryLock(handle.fd)) {
    await handle.close()
    return undefined
  }
  return {
    async release(options) {
      if (created && options?.withFile) await rm(path, { force: true })
      await handle.close()
    },
  }
}
