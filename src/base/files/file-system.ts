import { constants } from 'node:fs'
import * as promises from 'node:fs/promises'
import { platform } from 'node:os'
import { dirname } from 'node:path'
import { systemErrorCode } from '../problem.ts'

/**
 * The part of `node:fs/promises` that the durable files go through. Tests hand in one that fails at the Nth
 * call.
 */
export type FileSystem = Pick<
  typeof promises,
  'open' | 'readFile' | 'rename' | 'rm' | 'rmdir' | 'mkdir' | 'stat' | 'lstat' | 'readdir'
>

export const systemFileSystem: FileSystem = promises

const { O_CREAT, O_DSYNC, O_EXCL, O_RDWR, O_SYNC, O_WRONLY } = constants

/**
 * Whether a write can come back when it is on the disk, as after a sync: one way through Node's threads instead of two.
 * macOS promises less with these flags than Node's sync does, and Windows has none.
 */
const hasWriteThrough = platform() === 'linux'

/** Flags for a file that is appended to, of which `syncAppended` is asked after each write. */
export const appendFlags = hasWriteThrough
  ? { existing: O_RDWR | O_DSYNC, fresh: O_RDWR | O_CREAT | O_EXCL | O_DSYNC }
  : { existing: 'r+', fresh: 'wx+' }

/** Resolves when what was written to a file that was opened with `appendFlags` is on the disk. */
export async function syncAppended(handle: promises.FileHandle): Promise<void> {
  if (!hasWriteThrough) await handle.datasync()
}

/** Makes a rename or a new file in `directory` survive a power cut. Windows syncs no directories: NTFS logs names. */
export async function syncDirectory(files: Pick<FileSystem, 'open'>, directory: string): Promise<void> {
  if (platform() === 'win32') return
  const handle = await files.open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    // Nobody waits for that: what was to be on disk is there, or is known not to be.
    void handle.close().catch(() => undefined)
  }
}

/** Whether the system says that there is nothing of this name, also where what it would be in is a file. */
export function isNotFound(error: unknown): boolean {
  const code = systemErrorCode(error)
  return code === 'ENOENT' || code === 'ENOTDIR'
}

/** What is in a directory, by name; nothing where there is none. */
export async function readNames(files: Pick<FileSystem, 'readdir'>, directory: string): Promise<string[]> {
  try {
    return await files.readdir(directory)
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return []
    throw error
  }
}

/** Of a file; in pieces, where only one of them need be in memory at a time. */
export type Content = string | Uint8Array | AsyncIterable<string>

/** A file that a crash has left behind gives way: it may have another mode. */
async function openNew(
  files: FileSystem,
  path: string,
  flags: string | number,
  mode: number,
): Promise<promises.FileHandle> {
  try {
    return await files.open(path, flags, mode)
  } catch (error) {
    if (systemErrorCode(error) !== 'EEXIST') throw error
    await files.rm(path)
    return files.open(path, flags, mode)
  }
}

/** Makes a file with this content, which is on the disk afterwards; its name is not. */
async function writeNew(files: FileSystem, path: string, content: Content, mode: number): Promise<void> {
  const isWhole = typeof content === 'string' || content instanceof Uint8Array
  // Of many pieces each would wait for the disk.
  const isWrittenThrough = isWhole && hasWriteThrough
  const flags = isWrittenThrough ? O_WRONLY | O_CREAT | O_EXCL | O_SYNC : 'wx'
  const handle = await openNew(files, path, flags, mode)
  try {
    if (isWhole) await handle.writeFile(content)
    else for await (const piece of content) await handle.writeFile(piece)
    if (!isWrittenThrough) await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Makes a file that is not there yet, and its name, durable; a write that fails leaves none. Throws what the system says. */
export async function createFile(
  files: Pick<FileSystem, 'open' | 'rm'>,
  path: string,
  content: string,
  mode: number,
): Promise<void> {
  const handle = await files.open(path, 'wx', mode)
  try {
    await handle.writeFile(content)
    await handle.sync()
  } catch (error) {
    await files.rm(path, { force: true }).catch(() => undefined)
    throw error
  } finally {
    await handle.close()
  }
  await syncDirectory(files, dirname(path))
}

/** Where the new content of a file is until it is whole; a crash leaves it there. */
export function temporaryOf(path: string): string {
  return `${path}.tmp`
}

/**
 * Replaces a file as a whole: a reader sees the old content or the new, also after a power cut. When it
 * fails, the old file is untouched and the temporary one is removed as far as possible.
 */
export async function writeFileAtomically(
  files: FileSystem,
  path: string,
  content: Content,
  mode: number,
): Promise<void> {
  await writeTemporary(files, path, content, mode)
  await replaceByTemporary(files, path)
}

/** The first half of `writeFileAtomically`: the new content is on the disk, beside the old one. */
export async function writeTemporary(
  files: FileSystem,
  path: string,
  content: Content,
  mode: number,
): Promise<void> {
  const temporary = temporaryOf(path)
  try {
    await writeNew(files, temporary, content, mode)
  } catch (error) {
    await files.rm(temporary, { force: true }).catch(() => undefined)
    throw error
  }
}

/** The second half: it has the name of the file, for good. */
export async function replaceByTemporary(files: FileSystem, path: string): Promise<void> {
  const temporary = temporaryOf(path)
  try {
    await files.rename(temporary, path)
  } catch (error) {
    await files.rm(temporary, { force: true }).catch(() => undefined)
    throw error
  }
  await syncDirectory(files, dirname(path))
}
