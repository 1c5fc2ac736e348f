import { join } from 'node:path'
import type { FileSystem } from '../../base/files/file-system.ts'
import { baseVersion, parseSegmentBase, type SegmentBase } from '../../schema/journal/stored-state.ts'
import { DamagedJournalError, NewerJournalError, openExisting } from './damaged-journal.ts'
import { decodeLine } from '../lines/journal-line.ts'
import { type Line, readLines } from '../lines/line-reader.ts'
import { NewerFormatError, requireKnownFormat } from '../lines/upcast.ts'

/**
 * The journal is a row of files, the segments, with one event a line. The last one is written to. A segment that
 * is not the first of its journal begins with a line that says from which state its events go on, so that those
 * before it may be moved away. A segment ends where the next one begins, whatever else is in the file.
 */

/** Name of the segment that is written to, in the data directory. */
export const journalFileName = '.host.journal'

/** So that names are in the order of their numbers. */
const digits = 12
const endedName = /^\.host\.journal\.(\d{12})$/

/** Name of a segment that has ended, by the number of its first event. */
export function segmentName(first: number): string {
  return `${journalFileName}.${String(first).padStart(digits, '0')}`
}

/** How many times as much as the state at the top of a segment are its events, at least. */
const eventsToState = 2

/** From how many bytes on a segment ends. `base`: bytes of the state at its top; `least`: however small that is. */
export function sizeOfSegment(base: number, least: number): number {
  return base + Math.max(least, eventsToState * base)
}

/** What is known of a segment without reading it. */
export interface Segment {
  path: string
  /** Number of its first event, and of its last one (`first - 1`: none yet). */
  readonly first: number
  last: number
  /** Bytes of it from the beginning of the file, and their SHA-256 in hexadecimal. */
  bytes: number
  sha256: string
  /** When the file was changed last. */
  changed: FileTime
  /** Plugins that have an event in it. */
  plugins: Set<string>
}

/** As the file system says it: nothing writes to a file without another `stamp`. */
export interface FileTime {
  stamp: string
  /** Milliseconds since 1970. */
  at: number
}

export interface FoundSegment {
  path: string
  first: number
  size: number
  changed: FileTime
}

export async function timeOf(files: FileSystem, path: string): Promise<FileTime & { size: number }> {
  const { mtimeNs, ctimeNs, ctimeMs, size } = await files.stat(path, { bigint: true })
  return { stamp: `${mtimeNs} ${ctimeNs}`, at: Number(ctimeMs), size: Number(size) }
}

/** Names of the segments that have ended, in order. */
export function endedSegments(names: readonly string[]): { name: string; first: number }[] {
  return [...names].sort().flatMap((name) => {
    const number = endedName.exec(name)?.[1]
    return number === undefined ? [] : [{ name, first: Number(number) }]
  })
}

/** The segments in a data directory, in order. Throws where a file cannot be used, or is of another time than the others. */
export async function findSegments(files: FileSystem, directory: string): Promise<FoundSegment[]> {
  const names = await files.readdir(directory)
  const ended = endedSegments(names)
  const all = [...ended]
  if (names.includes(journalFileName)) {
    const path = join(directory, journalFileName)
    const first = await firstNumberIn(files, path, ended.length > 0)
    const others = ended.filter((segment) => segment.first >= first)
    // One that begins with the same event has no event of its own: it ends where the next one begins.
    if (others.some((segment) => segment.first > first)) throw new Error(mixedTimes(path, first, others))
    all.push({ name: journalFileName, first })
  }
  return Promise.all(
    all.map(async ({ name, first }) => {
      const path = join(directory, name)
      const { size, ...changed } = await timeOf(files, path)
      return { path, first, size, changed }
    }),
  )
}

async function firstNumberIn(files: FileSystem, path: string, isContinuation: boolean): Promise<number> {
  const handle = await openExisting(files, path, 'r+')
  try {
    for await (const { lines } of readLines(handle)) {
      const base = baseIn(path, lines[0])
      if (base !== undefined) return base.base.seq + 1
      if (isFirstEvent(lines[0])) return 1
      break
    }
  } finally {
    await handle.close()
  }
  if (!isContinuation) return 1
  throw new DamagedJournalError(path, 1, 0, 'it does not begin with the state that its events continue')
}

/** `others`: segments that have ended, with events from `first` on. Which of the two are wanted, only a person knows. */
function mixedTimes(path: string, first: number, others: readonly { name: string }[]): string {
  const those = [...new Set([others[0]?.name, others.at(-1)?.name])].join(' to ')
  return (
    `${path} begins with event ${first}, and events after it are in ${those}, too: files of two ` +
    'times are side by side, as when a backup was put back over a newer directory, or a host was copied while it ran. ' +
    'Nothing is damaged. Empty the directory and put the whole backup there; or move away what is of the other time: ' +
    `${those} to go on from the end of ${journalFileName}, ${journalFileName} to go on from theirs.`
  )
}

function isFirstEvent(line: Line | undefined): boolean {
  const decoded = line?.whole === true ? decodeLine(line.bytes) : undefined
  return decoded?.ok === true && decoded.value.seq === 1
}

/** For a first look: what is wrong with the line is told when it is read. */
function baseIn(path: string, line: Line | undefined): SegmentBase | undefined {
  try {
    return line?.whole === true ? decodeBase(line.bytes) : undefined
  } catch (error) {
    if (error instanceof NewerFormatError) throw new NewerJournalError(path, 1, error)
    return undefined
  }
}

/** The state at the top of a segment; undefined when the line is something else. Throws when it makes no sense. */
export function decodeBase(line: Uint8Array): SegmentBase | undefined {
  const decoded = decodeLine(line)
  if (!decoded.ok || !('base' in decoded.value)) return undefined
  requireKnownFormat(decoded.value, baseVersion)
  const parsed = parseSegmentBase(decoded.value)
  if (parsed.ok) return parsed.value
  throw new Error(parsed.errors.map(({ path, message }) => `${path} ${message}`).join('; '))
}

/** Which segment has the event, or would have it next. */
export function segmentOf(segments: readonly Segment[], seq: number): Segment | undefined {
  return segments.findLast(({ first }) => first <= seq)
}
