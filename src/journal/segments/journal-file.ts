import { createHash, type Hash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { platform } from 'node:os'
import { dirname, join } from 'node:path'
import {
  appendFlags,
  type FileSystem,
  isNotFound,
  syncAppended,
  syncDirectory,
  writeFileAtomically,
} from '../../base/files/file-system.ts'
import { movedDirectoryError } from '../../base/files/held-directory.ts'
import { privateFileMode } from '../../base/files/private-files.ts'
import { openExisting } from './damaged-journal.ts'
import { createNumberList, type NumberList } from './number-list.ts'
import type { ReadSegments } from './read-segments.ts'
import { type FileTime, journalFileName, type Segment, segmentName, timeOf } from './segment.ts'
import type { SegmentLines } from './segment-lines.ts'

/** A line that is written: its text without the line feed, and the plugin that it is of. */
export interface WrittenLine {
  text: string
  plugin: string | null
}

/** The segment that is written to: lines appended as a whole or not at all. Knows nothing of what they say. */
export interface JournalFile {
  /** Writes the lines and waits until they are on disk, unless it is a copy. When it fails, the file is as it was before. */
  append(lines: readonly WrittenLine[]): Promise<void>
  /**
   * Ends the segment and begins the next one with `base`, the state after its last event. When it fails, the
   * next append goes on where the last one ended.
   */
  begin(base: string): Promise<void>
  /** Whether the file that is written to is the one of its name. Never rejects. */
  isInPlace(): Promise<boolean>
  /** Bytes of the segment that is written to; undefined when there is none, or something has to be mended first. */
  readonly size: number | undefined
  /** Bytes that were appended since it was opened. */
  readonly written: number
  /** SHA-256 of the segment that is written to. */
  sha256(): string
  close(): Promise<void>
}

export interface JournalFileSettings {
  files: FileSystem
  directory: string
  /** Is kept up to date. */
  segments: Segment[]
  lines: SegmentLines
  /** What is there of the last segment; undefined for a new journal. */
  read: ReadSegments | undefined
  /** What is lost of it is somewhere else too: nobody waits for the disk, which gets it soon after. */
  isCopy: boolean
}

/** Windows moves no folder with an open file in it. */
const isMovable = platform() !== 'win32'

/** How the segment that is written to is opened. */
export function segmentFlags(isCopy: boolean): typeof appendFlags {
  return isCopy ? { existing: 'r+', fresh: 'wx+' } : appendFlags
}

export function createJournalFile(settings: JournalFileSettings): JournalFile {
  const { files, directory, segments, lines, read, isCopy } = settings
  const path = join(directory, journalFileName)
  const flags = segmentFlags(isCopy)
  let handle = read?.handle
  let hash: Hash = read?.hash ?? createHash('sha256')
  let offsets: NumberList = read?.offsets ?? createNumberList()
  let total = 0
  /** Bytes past the end, left by a crash or by a failed write, that have to be cut off first. */
  let dirty = read?.torn ?? false
  let current = segments.at(-1)
  let isTidy = false
  /** What the system calls the open file. */
  let own: { of: FileHandle; dev: number; ino: number } | undefined
  /** Of a copy: what brings the last lines to the disk, and what it said. */
  let syncing: Promise<void> | undefined
  let isSyncDue = false
  let syncFault: unknown
  if (current !== undefined) lines.follow(current, offsets, handle?.fd)

  /** The segment to append to; undefined when that has to be made ready first. */
  function atHand(): { file: FileHandle; segment: Segment } | undefined {
    if (handle === undefined || current?.path !== path || dirty || !isTidy) return undefined
    return { file: handle, segment: current }
  }

  /** The segment to append to. One that has ended without a next one is written to again. */
  async function ready(): Promise<{ file: FileHandle; segment: Segment }> {
    if (current === undefined || handle === undefined) {
      const created = await create(files, path, flags.fresh)
      handle = created.handle
      const { changed } = created
      current = { path, first: 1, last: 0, bytes: 0, sha256: '', changed, plugins: new Set() }
      offsets.push(0)
      segments.push(current)
      lines.follow(current, offsets, handle.fd)
    }
    if (current.path !== path) {
      await files.rename(current.path, path)
      current.path = path
      await syncDirectory(files, directory)
    }
    if (dirty) await cutOff(handle, current.bytes)
    if (!isTidy) await removeInterrupted(files, directory)
    isTidy = true
    return { file: handle, segment: current }
  }

  async function cutOff(file: FileHandle, end: number): Promise<void> {
    dirty = true
    await file.truncate(end)
    await file.datasync()
    dirty = false
  }

  /**
   * Whoever moves the data directory away, puts a copy in its place, or takes its disk out of the tree leaves the open file
   * here: what is written to it would not be found by the next start. Nobody looks for a copy there.
   */
  async function requireName(file: FileHandle): Promise<void> {
    if (isCopy || !isMovable) return
    if (own?.of !== file) {
      const { dev, ino } = await file.stat()
      own = { of: file, dev, ino }
    }
    const found = await files.stat(path).catch((error: unknown) => {
      if (isNotFound(error)) return undefined
      throw error
    })
    if (found?.ino === own.ino && found.dev === own.dev) return
    throw movedDirectoryError('under its name there is another file by now, or none')
  }

  function syncSoon(file: FileHandle): void {
    isSyncDue = true
    syncing ??= sync(file).finally(() => (syncing = undefined))
  }

  async function sync(file: FileHandle): Promise<void> {
    while (isSyncDue) {
      isSyncDue = false
      try {
        await file.datasync()
      } catch (error) {
        syncFault = error
      }
    }
  }

  function throwSyncFault(): void {
    const fault = syncFault
    syncFault = undefined
    if (fault !== undefined) throw fault as Error
  }

  return {
    get size() {
      return atHand()?.segment.bytes
    },
    get written() {
      return total
    },
    async append(written) {
      throwSyncFault()
      // Without a turn in between, so that the disk has it at once.
      const { file, segment } = atHand() ?? (await ready())
      const bytes = Buffer.from(written.map(({ text }) => `${text}\n`).join(''))
      try {
        const written = writeAll(file, bytes, segment.bytes)
        // Beside the write: nobody waits longer for it.
        const named = requireName(file)
        named.catch(() => undefined)
        await written
        if (isCopy) syncSoon(file)
        else await syncAppended(file)
        await named
      } catch (error) {
        await cutOff(file, segment.bytes).catch(() => undefined)
        throw error
      }
      total += bytes.length
      hash.update(bytes)
      for (const { text, plugin } of written) {
        segment.bytes += Buffer.byteLength(text) + 1
        segment.last += 1
        offsets.push(segment.bytes)
        if (plugin !== null) segment.plugins.add(plugin)
      }
    },
    async begin(base) {
      const ended = current
      if (handle === undefined || ended === undefined) return
      await syncing
      throwSyncFault()
      const name = join(directory, segmentName(ended.first))
      await files.rename(path, name)
      ended.path = name
      // The old content has its new name for good before anything else gets the old name.
      await syncDirectory(files, directory)
      const bytes = Buffer.from(`${base}\n`)
      await writeFileAtomically(files, path, bytes, privateFileMode)
      const next = await openExisting(files, path, flags.existing)
      ended.sha256 = hash.digest('hex')
      ended.changed = await timeOf(files, name).catch(() => ended.changed)
      lines.follow(ended, offsets, undefined)
      await handle.close().catch(() => undefined)
      handle = next
      hash = createHash('sha256').update(bytes)
      offsets = createNumberList()
      offsets.push(bytes.length)
      const first = ended.last + 1
      const { changed } = ended
      current = {
        path,
        first,
        last: ended.last,
        bytes: bytes.length,
        sha256: '',
        changed,
        plugins: new Set(),
      }
      segments.push(current)
      lines.follow(current, offsets, handle.fd)
    },
    isInPlace: async () =>
      handle === undefined ||
      (await requireName(handle).then(
        () => true,
        () => false,
      )),
    sha256: () => hash.copy().digest('hex'),
    async close() {
      await syncing
      // What was refused here, and could not be cut off then, would be believed by the next start.
      if (dirty && isTidy && handle !== undefined && current !== undefined) {
        await cutOff(handle, current.bytes).catch(() => undefined)
      }
      await handle?.close()
    },
  }
}

async function writeAll(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, written, bytes.length - written, position + written)
    if (bytesWritten === 0) throw new Error('nothing of it could be written')
    written += bytesWritten
  }
}

async function create(
  files: FileSystem,
  path: string,
  flags: string | number,
): Promise<{ handle: FileHandle; changed: FileTime }> {
  const handle = await files.open(path, flags, privateFileMode)
  try {
    await syncDirectory(files, dirname(path))
    return { handle, changed: await timeOf(files, path) }
  } catch (error) {
    // What stayed here would be in the way of the next attempt.
    await handle.close().catch(() => undefined)
    await files.rm(path, { force: true }).catch(() => undefined)
    throw error
  }
}

const interrupted = /^\.host\.(?:journal(?:\.\d{12})?|checkpoint)\.tmp$/

/** What the end of another process has left of a write; nothing depends on it. */
async function removeInterrupted(files: FileSystem, directory: string): Promise<void> {
  const names = await files.readdir(directory).catch(() => [])
  for (const name of names.filter((each) => interrupted.test(each))) {
    await files.rm(join(directory, name), { force: true }).catch(() => undefined)
  }
}
