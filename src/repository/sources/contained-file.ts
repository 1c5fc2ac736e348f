import { constants, fstatSync } from 'node:fs'
import { type FileHandle, open, realpath } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { Value } from 'typebox/value'
import { systemErrorCode } from '../../base/problem.ts'
import { RelativePath } from '../../schema/manifest/manifest.ts'

/** Why a file was not read although it is there. The message is the rest of a sentence: "init.lua …". */
export class FileRefused extends Error {
  override readonly name = 'FileRefused'
}

/** Without waiting: opening a pipe that nobody writes to would never return. */
const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW
/** Windows has nothing of the kind. */
const refusesLinks = (constants.O_NOFOLLOW as number | undefined) !== undefined

/** How much is read from a file at once, in bytes. */
const chunkBytes = 64 * 1024

/** Whether a path stays inside the directory that it is relative to, however a server may decode it. */
export function isContainedPath(path: string): boolean {
  return Value.Check(RelativePath, path)
}

/**
 * Reads a file below `root`, at most `limit` bytes. Links are followed as long as they stay inside. Throws
 * `FileRefused`, or Node's error when it cannot be read (`ENOENT`, …).
 */
export async function readContainedFile(root: string, path: string, limit: number): Promise<Uint8Array> {
  if (!isContainedPath(path)) throw new FileRefused('is not a path inside the directory')
  const file = await openContained(root, path)
  try {
    // Opening it has fetched what this asks for: a way through Node's threads would take longer.
    const found = fstatSync(file.fd)
    if (!found.isFile()) throw new FileRefused('is not a file')
    return await readAtMost(file, found.size, limit)
  } finally {
    // Nobody waits for that: nothing was written to it.
    void file.close().catch(() => undefined)
  }
}

async function openContained(root: string, path: string): Promise<FileHandle> {
  // Most files are no links, and lie in the directory itself: two calls less for each of them.
  if (refusesLinks && !path.includes('/')) {
    try {
      return await open(join(root, path), flags)
    } catch (error) {
      if (!isLink(error)) throw error
    }
  }
  const base = await realpath(root)
  const target = await realpath(join(base, path))
  if (!target.startsWith(base.endsWith(sep) ? base : base + sep)) {
    throw new FileRefused('is a link that leads out of the directory')
  }
  return open(target, flags)
}

/** How opening a link fails, by the system. */
const isLink = (error: unknown): boolean => ['ELOOP', 'EMLINK'].includes(systemErrorCode(error) ?? '')

/** Goes by what is read and not by the size that the file claims: it may be growing. */
async function readAtMost(file: FileHandle, claimed: number, limit: number): Promise<Uint8Array> {
  const chunks: Buffer[] = []
  let size = 0
  // One byte more than there should be: a read that does not fill it has met the end.
  let room = Math.min(claimed, limit) + 1
  for (;;) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafeSlow(room), 0, room)
    size += bytesRead
    if (size > limit) throw new FileRefused(`is larger than ${limit} bytes`)
    chunks.push(buffer.subarray(0, bytesRead))
    if (bytesRead === 0 || (bytesRead < room && size === claimed)) return Buffer.concat(chunks, size)
    room = chunkBytes
  }
}
