import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { tryLock } from 'fs-native-extensions'
import { privateFileMode } from './journal-file.ts'

const lockFileName = '.host.lock'

/**
 * Takes the data directory for this process. The lock is the kernel's, on an open file: it goes with the
 * process, whatever ends it, so there is no stale lock. Returns undefined when another host has it.
 */
export async function lockDirectory(directory: string): Promise<{ release(): Promise<void> } | undefined> {
  const handle = await open(join(directory, lockFileName), 'a+', privateFileMode)
  if (!tryLock(handle.fd)) {
    await handle.close()
    return undefined
  }
  return { release: () => handle.close() }
}
