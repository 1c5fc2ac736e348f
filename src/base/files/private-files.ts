import { dirname, join } from 'node:path'
import { type FileSystem, readNames, syncDirectory } from './file-system.ts'
import { rethrowSystemFault } from './system-fault.ts'
import type { Logger } from '../log/log.ts'
import { messageOf, systemErrorCode } from '../problem.ts'

/** Mode of every file that may hold secrets: only the owner reads it. */
export const privateFileMode = 0o600
/** Mode of every directory that the host makes. */
const privateDirectoryMode = 0o700

/** Rights of the group and of everybody else. */
export const rightsOfOthers = 0o077

/** How to get a place in which a file can be its owner's alone. */
export const placeWithRights = 'mount it with umask=077, or put the file on another one'

/** What to do about a file that others may read. */
export function takeRightsAdvice(path: string): string {
  return `run "chmod 600 ${path}"; where that changes nothing, its file system (FAT, exFAT, NTFS) keeps no rights: ${placeWithRights}`
}

/** Some file systems know no fsync of a directory, and some directories only let names be made in them. */
const withoutDirectorySync: ReadonlySet<string | undefined> = new Set([
  'EACCES',
  'EINVAL',
  'EISDIR',
  'ENOTSUP',
  'EPERM',
])

type DirectoryMaker = Pick<FileSystem, 'mkdir' | 'rmdir' | 'open' | 'stat'>

/**
 * Makes a directory, with those that it is in, for the owner alone; its name survives a power cut. One at a time:
 * Node's own way to make several never ends where the system makes none (`/proc/x`).
 */
export async function makePrivateDirectory(files: DirectoryMaker, path: string): Promise<void> {
  try {
    await makeOne(files, path)
  } catch (error) {
    const parent = dirname(path)
    if (systemErrorCode(error) !== 'ENOENT' || parent === path) throw error
    await makePrivateDirectory(files, parent)
    await makeOne(files, path)
  }
}

async function makeOne(files: DirectoryMaker, path: string): Promise<void> {
  try {
    await files.mkdir(path, { mode: privateDirectoryMode })
  } catch (error) {
    // A read-only file system refuses what is there already, too.
    const isThere = await files.stat(path).then((stats) => stats.isDirectory(), rethrowSystemFault)
    if (isThere === true) return
    throw error
  }
  try {
    await syncDirectory(files, dirname(path))
  } catch (error) {
    if (withoutDirectorySync.has(systemErrorCode(error))) return
    // The next attempt would take its name for one that is on the disk.
    await files.rmdir(path).catch(() => undefined)
    throw error
  }
}

/**
 * Takes the rights of others from the files of a directory whose names fit: an editor, or a backup that was put
 * back, may have given them. A file system that cannot do that is told of in the log; nothing is thrown.
 */
export async function takeRightsOfOthers(
  files: FileSystem,
  logger: Logger,
  directory: string,
  fits: (name: string) => boolean,
): Promise<void> {
  const names = await readNames(files, directory)
  const left: { path: string; error: string }[] = []
  for (const name of names.filter(fits)) {
    const path = join(directory, name)
    await takeRights(files, logger, path).catch((error: unknown) => {
      left.push({ path, error: messageOf(error) })
    })
  }
  const [first] = left
  if (first === undefined) return
  // Where one cannot be changed, all of a long journal cannot.
  const more = left.length > 1 ? { more: left.length - 1 } : {}
  logger.warn('A file can be read by others, and that cannot be changed', { ...first, ...more })
}

async function takeRights(files: FileSystem, logger: Logger, path: string): Promise<void> {
  const { mode } = await files.stat(path)
  if ((mode & rightsOfOthers) === 0) return
  const handle = await files.open(path, 'r')
  try {
    await handle.chmod(mode & 0o777 & ~rightsOfOthers)
    // FAT and its like take it without a word, and change nothing.
    const { mode: now } = await handle.stat()
    if ((now & rightsOfOthers) !== 0) throw new Error('the file system keeps no rights of files')
  } finally {
    await handle.close()
  }
  logger.info('Others could read a file; now only its owner can', { path })
}
