import { existsSync } from 'node:fs'
import { movedDirectoryError } from '../../base/files/held-directory.ts'
import { Problem, systemErrorCode } from '../../base/problem.ts'
import type { JournalEvent } from '../../schema/journal/journal-event.ts'
import { decodeBase, type Segment, segmentOf } from './segment.ts'
import { bytesAtOnce, type SegmentLines } from './segment-lines.ts'
import { restoreState } from '../fold/stored-state.ts'
import type { StoredState } from '../../schema/journal/stored-state.ts'
import { type HostState, initialState } from '../fold/evolve.ts'

/** Events of any segment, read when they are asked for. */
export interface EventReader {
  /** Number of the first event that is here. */
  readonly first: number
  /** Those from `first` to `last` that are here; of large ones fewer, but one at least. */
  read(first: number, last: number): JournalEvent[]
  /** Those of one plugin above `after`, at most `limit`; of many or large ones fewer, but one at least. */
  ofPlugin(plugin: string, after: number, limit: number): JournalEvent[]
  /** Number of the event after which the segment begins that goes on from `seq`, or leads to it. */
  startOf(seq: number): number
  /** The state after that event, and the event's id; undefined when the segment is not here any more. */
  base(seq: number): { state: HostState; event: string | null } | undefined
}

/** Bytes that are looked through for the events of one plugin before there is an answer. */
const searchedAtOnce = 4 * bytesAtOnce

export function createEventReader(
  segments: Segment[],
  lines: SegmentLines,
  parse: (line: Uint8Array) => JournalEvent,
  open: (stored: StoredState) => StoredState,
): EventReader {
  const firstHere = (): number => segments[0]?.first ?? 1

  /** A segment whose file has been moved away meanwhile goes, with all before it. Where all are away, they may come back. */
  function present<T>(segment: Segment, task: () => T): T | undefined {
    try {
      return task()
    } catch (error) {
      if (systemErrorCode(error) !== 'ENOENT') throw error
      const latest = segments.at(-1)
      if (latest !== undefined && !existsSync(latest.path))
        throw movedDirectoryError(`${latest.path} is not there, either`)
      segments.splice(0, segments.indexOf(segment) + 1)
      return undefined
    }
  }

  /** Lines of one segment, from the event `first` on. */
  function piece(first: number, last: number): { from: number; found: Uint8Array[] } | undefined {
    for (;;) {
      const from = Math.max(first, firstHere())
      const segment = segmentOf(segments, from)
      if (segment === undefined || from > Math.min(last, segment.last)) return undefined
      const found = present(segment, () => lines.read(segment, from, Math.min(last, segment.last)))
      if (found !== undefined) return { from, found }
    }
  }

  return {
    get first() {
      return firstHere()
    },
    read(first, last) {
      const events: JournalEvent[] = []
      let bytes = 0
      for (let next = first; bytes < bytesAtOnce;) {
        const part = piece(next, last)
        if (part === undefined) break
        for (const line of part.found) {
          bytes += line.length + 1
          if (bytes > bytesAtOnce && events.length > 0) return events
          events.push(parse(line))
        }
        next = part.from + part.found.length
      }
      return events
    },
    ofPlugin(plugin, after, limit) {
      const events: JournalEvent[] = []
      const name = Buffer.from(JSON.stringify(plugin))
      let searched = 0
      let bytes = 0
      for (let next = after + 1; events.length < limit;) {
        const at = segmentOf(segments, Math.max(next, firstHere()))
        if (at === undefined || at.last < next) break
        if (!at.plugins.has(plugin)) {
          next = at.last + 1
          continue
        }
        const part = piece(next, at.last)
        if (part === undefined) break
        for (const line of part.found) {
          searched += line.length + 1
          if (!Buffer.from(line.buffer, line.byteOffset, line.length).includes(name)) continue
          const event = parse(line)
          if (event.plugin !== plugin) continue
          bytes += line.length + 1
          if (bytes > bytesAtOnce && events.length > 0) return events
          events.push(event)
          if (events.length === limit) return events
        }
        next = part.from + part.found.length
        if (searched > searchedAtOnce && events.length > 0) break
      }
      return events
    },
    startOf: (seq) => (segmentOf(segments, seq + 1)?.first ?? 1) - 1,
    base(seq) {
      const segment = segmentOf(segments, seq + 1)
      if (segment === undefined) return undefined
      if (segment.first === 1) return { state: initialState(), event: null }
      const line = present(segment, () => lines.base(segment))
      const base = line && decodeBase(line)
      if (base === undefined) return undefined
      const { state, event } = restoreState(open(base.base))
      return { state, event }
    },
  }
}

/** What is said of events that are not here any more. */
export function goneProblem(first: number): Problem {
  return new Problem(
    'not_found',
    `The events up to ${first - 1} have been moved away with their files; the journal here begins with ${first}.`,
  )
}
