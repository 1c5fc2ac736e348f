import { readSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type FileSystem, syncDirectory } from '../base/file-system.ts'
import { SecretKeyError } from '../base/key-ring.ts'
import { messageOf, systemErrorCode } from '../base/problem.ts'
import { privateFileMode } from '../base/private-files.ts'
import { readLines, splitLines } from './line-reader.ts'
import { createNumberList, type NumberList } from './number-list.ts'

/** The file below the journal: lines appended as a whole or not at all. Knows nothing of what they say. */
export interface JournalFile {
  /** Number of lines. */
  readonly lines: number
  /** Writes the lines and waits until they are on disk. When it fails, the file is as it was before. */
  append(lines: readonly string[]): Promise<void>
  /**
   * Lines by their numbers, from 1, the last included; without line feeds. Of large ones fewer: as many as fit
   * into `bytesAtOnce`, and one at least.
   */
  read(first: number, last: number): Uint8Array[]
  /** Bytes of a line. */
  size(line: number): number
  close(): Promise<void>
}

/** Bytes that are read at once: a journal may have thousands of lines of a megabyte, and a board little memory. */
export const bytesAtOnce = 8 * 1024 * 1024

/** A line that cannot be believed, and is not just the torn end of a write that nobody was told of. */
export class DamagedJournalError extends Error {
  override readonly name = 'DamagedJournalError'
  readonly path: string
  /** Line number from 1, and position of its first byte from 0. */
  readonly line: number
  readonly offset: number

  constructor(path: string, line: number, offset: number, reason: string) {
    super(
      `${path} is damaged at line ${line} (byte ${offset}): ${reason}. ` +
        'Run "lupine repair" (in a checkout: npm start -- repair): it keeps a copy of the file, cuts it there and ' +
        'takes the settings from .host.json.',
    )
    this.path = path
    this.line = line
    this.offset = offset
  }
}

export interface OpenOptions {
  /** Number of the last line that a caller was told of. */
  acknowledged: number
  onTorn: (text: string) => void
}

/**
 * Opens the file, handing each line to `accept`, which throws at one that it does not
 * believe. An incomplete last line, and a last line past `acknowledged` that is not believed, is what a crash
 * leaves of a write: it is cut off at the next append, after `onTorn` was told. Nothing on disk changes before
 * the first append.
 */
export async function openJournalFile(
  files: FileSystem,
  path: string,
  accept: (line: Uint8Array) => void,
  options: OpenOptions,
): Promise<JournalFile> {
  const handle = await openExisting(files, path)
  const offsets = createNumberList(8)
  offsets.push(0)
  if (handle === undefined) return createJournalFile(files, path, undefined, offsets, false)
  try {
    const torn = await readAll(handle, path, offsets, accept, options)
    const lines = offsets.length - 1
    if (lines < options.acknowledged) {
      const reason = `it ends here, but .host.json has seen ${options.acknowledged} events`
      throw new DamagedJournalError(path, lines + 1, endOf(offsets), reason)
    }
    return createJournalFile(files, path, handle, offsets, torn)
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** Where the last line ends. */
function endOf(offsets: NumberList): number {
  return offsets.at(offsets.length - 1) ?? 0
}

/** Answers whether there is something torn at the end. */
async function readAll(
  handle: FileHandle,
  path: string,
  offsets: NumberList,
  accept: (line: Uint8Array) => void,
  { acknowledged, onTorn }: OpenOptions,
): Promise<boolean> {
  const { size } = await handle.stat()
  for await (const lines of readLines(handle)) {
    for (const { bytes, start, whole } of lines) {
      const reason = whole ? reasonAgainst(accept, bytes) : 'it ends in the middle of a line'
      const end = start + bytes.length + 1
      if (reason === undefined) {
        offsets.push(end)
        continue
      }
      const number = offsets.length
      if (end < size || number <= acknowledged) throw new DamagedJournalError(path, number, start, reason)
      onTorn(bytes.toString('utf8'))
      return true
    }
  }
  return false
}

function reasonAgainst(accept: (line: Uint8Array) => void, line: Buffer): string | undefined {
  try {
    accept(line)
    return undefined
  } catch (error) {
    // The line is whole, only its key is missing: nothing may be cut off or repaired because of that.
    if (error instanceof SecretKeyError) throw error
    return messageOf(error)
  }
}

async function openExisting(files: FileSystem, path: string): Promise<FileHandle | undefined> {
  try {
    return await files.open(path, 'r+')
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined
    throw unusable(path, error)
  }
}

/** One sentence that says what to do. */
export function unusable(path: string, error: unknown): Error {
  return new Error(
    `${path} cannot be used (${systemErrorCode(error) ?? messageOf(error)}): it must be a file that the host ` +
      'may read and write; correct that, or its permissions.',
    { cause: error },
  )
}

async function create(files: FileSystem, path: string): Promise<FileHandle> {
  const handle = await files.open(path, 'wx+', privateFileMode)
  try {
    await syncDirectory(files, dirname(path))
    return handle
  } catch (error) {
    await handle.close()
    await files.rm(path, { force: true })
    throw error
  }
}

function createJournalFile(
  files: FileSystem,
  path: string,
  existing: FileHandle | undefined,
  offsets: NumberList,
  torn: boolean,
): JournalFile {
  let handle = existing
  let end = endOf(offsets)
  /** Bytes past `end`, left by a crash or by a failed write, that have to be cut off first. */
  let dirty = torn

  async function cutOff(file: FileHandle): Promise<void> {
    dirty = true
    await file.truncate(end)
    await file.datasync()
    dirty = false
  }

  return {
    get lines() {
      return offsets.length - 1
    },
    async append(lines) {
      handle ??= await create(files, path)
      if (dirty) await cutOff(handle)
      const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''))
      try {
        for (let written = 0; written < bytes.length;) {
          const { bytesWritten } = await handle.write(bytes, written, bytes.length - written, end + written)
          if (bytesWritten === 0) throw new Error('nothing of it could be written')
          written += bytesWritten
        }
        await handle.datasync()
      } catch (error) {
        await cutOff(handle).catch(() => undefined)
        throw error
      }
      for (const line of lines) {
        end += Buffer.byteLength(line) + 1
        offsets.push(end)
      }
    },
    read(first, last) {
      if (last < first) return []
      const start = offsets.at(first - 1)
      let end = first
      while (end < last && (offsets.at(end + 1) ?? 0) - (start ?? 0) <= bytesAtOnce) end += 1
      const next = offsets.at(end)
      if (handle === undefined || start === undefined || next === undefined) {
        throw new RangeError(`The journal has no lines ${first} to ${last}`)
      }
      const bytes = Buffer.allocUnsafe(next - start)
      for (let filled = 0; filled < bytes.length;) {
        const count = readSync(handle.fd, bytes, filled, bytes.length - filled, start + filled)
        if (count === 0) throw new Error(`${path} has become shorter while the host was running`)
        filled += count
      }
      const lines: Uint8Array[] = []
      splitLines(bytes, (from, to) => lines.push(bytes.subarray(from, to)))
      return lines
    },
    size: (line) => (offsets.at(line) ?? 0) - (offsets.at(line - 1) ?? 0),
    async close() {
      await handle?.close()
    },
  }
}
