import * as promises from 'node:fs/promises'
import { platform } from 'node:os'
import { dirname } from 'node:path'
import { systemErrorCode } from './problem.ts'

/**
 * The part of `node:fs/promises` that the durable files go through. Tests hand in one that fails at the Nth
 * call.
 */
export type FileSystem = Pick<
  typeof promises,
  'open' | 'readFile' | 'rename' | 'rm' | 'mkdir' | 'stat' | 'readdir'
>

export const systemFileSystem: FileSystem = promises

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

/** A file that a crash has left behind gives way: it may have another mode. */
async function openNew(files: FileSystem, path: string, mode: number): Promise<promises.FileHandle> {
  try {
    return await files.open(path, 'wx', mode)
  } catch (error) {
    if (systemErrorCode(error) !== 'EEXIST') throw error
    await files.rm(path)
    return files.open(path, 'wx', mode)
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
 * fails, the old file is untouched and the temporary one is removed as far as possible. `content`: also in pieces, of
 * which only one need be in memory at a time.
 */
export async function writeFileAtomically(
  files: FileSystem,
  path: string,
  content: string | Uint8Array | AsyncIterable<string>,
  mode: number,
): Promise<void> {
  const pieces = typeof content === 'string' || content instanceof Uint8Array ? [content] : content
  const temporary = temporaryOf(path)
  try {
    const handle = await openNew(files, temporary, mode)
    try {
      for await (const piece of pieces) await handle.writeFile(piece)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await files.rename(temporary, path)
  } catch (error) {
    await files.rm(temporary, { force: true }).catch(() => undefined)
    throw error
  }
  await syncDirectory(files, dirname(path))
}
