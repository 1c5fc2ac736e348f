import { readSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type FileSystem, syncDirectory } from '../base/file-system.ts'
import { messageOf, systemErrorCode } from '../base/problem.ts'

/** The file below the journal: lines appended as a whole or not at all. Knows nothing of what they say. */
export interface JournalFile {
  /** Number of lines. */
  readonly lines: number
  /** Writes the lines and waits until they are on disk. When it fails, the file is as it was before. */
  append(lines: readonly string[]): Promise<void>
  /** One line by its number, from 1, without the line feed. */
  line(number: number): string
  close(): Promise<void>
}

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

const lineFeed = 0x0a

/**
 * Opens the file, handing each line to `accept`, which throws at one that it does not believe. An incomplete
 * last line, and a last line past `acknowledged` that is not believed, is what a crash leaves of a write:
 * it is cut off, after `onTorn` was told.
 */
export async function openJournalFile(
  files: FileSystem,
  path: string,
  accept: (line: string) => void,
  options: { acknowledged: number; onTorn: (text: string) => void },
): Promise<JournalFile> {
  const { handle, created } = await openOrCreate(files, path)
  try {
    if (created) await syncDirectory(files, dirname(path))
    const content = await handle.readFile()
    const offsets = [0]
    for (let start = 0; start < content.length; ) {
      const end = content.indexOf(lineFeed, start)
      const number = offsets.length
      const reason =
        end === -1 ? 'it ends in the middle of a line' : reasonAgainst(accept, content, start, end)
      if (reason !== undefined) {
        const isLast = end === -1 || end === content.length - 1
        if (!isLast || number <= options.acknowledged)
          throw new DamagedJournalError(path, number, start, reason)
        options.onTorn(content.toString('utf8', start))
        await handle.truncate(start)
        await handle.datasync()
        break
      }
      start = end + 1
      offsets.push(start)
    }
    const lines = offsets.length - 1
    if (lines > 0 && lines < options.acknowledged) {
      const reason = `it ends here, but .host.json has seen ${options.acknowledged} events`
      throw new DamagedJournalError(path, lines + 1, offsets[lines] ?? 0, reason)
    }
    return createJournalFile(handle, offsets)
  } catch (error) {
    await handle.close()
    throw error
  }
}

function reasonAgainst(
  accept: (line: string) => void,
  content: Buffer,
  start: number,
  end: number,
): string | undefined {
  try {
    accept(content.toString('utf8', start, end))
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}

/** Mode of every file that may hold secrets: only the owner reads it. */
export const privateFileMode = 0o600

async function openOrCreate(
  files: FileSystem,
  path: string,
): Promise<{ handle: FileHandle; created: boolean }> {
  try {
    return { handle: await files.open(path, 'r+'), created: false }
  } catch (error) {
    if (systemErrorCode(error) !== 'ENOENT') throw error
    return { handle: await files.open(path, 'wx+', privateFileMode), created: true }
  }
}

function createJournalFile(handle: FileHandle, offsets: number[]): JournalFile {
  let end = offsets.at(-1) ?? 0
  /** A failed write left bytes behind that could not be cut off yet. */
  let dirty = false

  async function cutOff(): Promise<void> {
    dirty = true
    await handle.truncate(end)
    await handle.datasync()
    dirty = false
  }

  return {
    get lines() {
      return offsets.length - 1
    },
    async append(lines) {
      if (dirty) await cutOff()
      const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''))
      try {
        for (let written = 0; written < bytes.length; ) {
          const { bytesWritten } = await handle.write(bytes, written, bytes.length - written, end + written)
          written += bytesWritten
        }
        await handle.datasync()
      } catch (error) {
        await cutOff().catch(() => undefined)
        throw error
      }
      for (const line of lines) {
        end += Buffer.byteLength(line) + 1
        offsets.push(end)
      }
    },
    line(number) {
      const start = offsets[number - 1]
      const next = offsets[number]
      if (start === undefined || next === undefined) throw new RangeError(`The journal has no line ${number}`)
      const bytes = Buffer.alloc(next - start - 1)
      readSync(handle.fd, bytes, 0, bytes.length, start)
      return bytes.toString('utf8')
    },
    close: () => handle.close(),
  }
}
