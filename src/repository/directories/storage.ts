import { createHash } from 'node:crypto'
import { dirname, join } from 'node:path'
import { type FileSystem, syncDirectory as syncNames } from '../../base/files/file-system.ts'
import { makePrivateDirectory, privateFileMode } from '../../base/files/private-files.ts'
import { systemErrorCode } from '../../base/problem.ts'

/** Writing to the data directory so that it is on disk. */

/** Writes a new file below `root`, with the directories that it needs, and waits until it is on disk. */
export async function writeDurably(
  files: FileSystem,
  root: string,
  path: string,
  content: Uint8Array,
): Promise<void> {
  const target = join(root, path)
  await makePrivateDirectory(files, dirname(target))
  const file = await files.open(target, 'wx', privateFileMode)
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Some file systems know no fsync of a directory; there it is not needed, or there is no help. */
const withoutDirectorySync: ReadonlySet<string | undefined> = new Set([
  'EINVAL',
  'EISDIR',
  'ENOTSUP',
  'EPERM',
])

/** Waits until the names in a directory are on disk. */
export async function syncDirectory(files: FileSystem, path: string): Promise<void> {
  try {
    await syncNames(files, path)
  } catch (error) {
    if (!withoutDirectorySync.has(systemErrorCode(error))) throw error
  }
}

/** In hexadecimal. */
export function sha256(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}
