import { evictOldest } from '../../base/evict-oldest.ts'
import { closeSync, openSync, readSync } from 'node:fs'
import { splitLines } from '../lines/line-reader.ts'
import { createNumberList, type NumberList } from './number-list.ts'
import type { Segment } from './segment.ts'

/** Reading events again, in any segment, without all of it in memory. */

/** Bytes that are read at once: a journal may have thousands of lines of a megabyte, and a board little memory. */
export const bytesAtOnce = 8 * 1024 * 1024

/** Segments whose lines are known by position; the others are looked through again when they are asked for. */
const rememberedSegments = 16

export interface SegmentLines {
  /** Takes over where the events of a segment begin; it is read through `file`, while it has one. */
  follow(segment: Segment, offsets: NumberList, file: number | undefined): void
  /**
   * Lines of events by their numbers, without line feeds; `first` and `last` are in the segment. Of large ones
   * fewer: as many as fit into `bytesAtOnce`, and one at least.
   */
  read(segment: Segment, first: number, last: number): Uint8Array[]
  /** Its first line, when that is a state. */
  base(segment: Segment): Uint8Array | undefined
  /** The bytes between two positions. */
  bytes(segment: Segment, start: number, end: number): Buffer
  /** Forgets where its lines are. */
  forget(segment: Segment): void
}

export function createSegmentLines(): SegmentLines {
  /** Where the events begin, and where the last one ends; the least recently used first. */
  const known = new Map<Segment, NumberList>()
  /** The one that is written to; its name may change at any moment. */
  let followed: { segment: Segment; offsets: NumberList; file: number } | undefined

  function remember(segment: Segment, offsets: NumberList): NumberList {
    known.delete(segment)
    known.set(segment, offsets)
    evictOldest(known, rememberedSegments)
    return offsets
  }

  function offsetsOf(segment: Segment): NumberList {
    if (followed?.segment === segment) return followed.offsets
    return remember(segment, known.get(segment) ?? lookThrough(segment))
  }

  function lookThrough(segment: Segment): NumberList {
    const ends = createNumberList()
    ends.push(0)
    let rest = 0
    for (let start = 0; start < segment.bytes;) {
      const bytes = bytesOf(segment, start, Math.min(segment.bytes, start + rest + bytesAtOnce))
      const used = splitLines(bytes, (_, end) => ends.push(start + end + 1))
      rest = used === 0 ? bytes.length : 0
      start += used
    }
    const events = segment.last - segment.first + 1
    const lines = ends.length - 1
    if (lines === events) return ends
    if (lines !== events + 1) throw wasChanged(segment)
    const offsets = createNumberList()
    for (let position = 1; position < ends.length; position += 1) offsets.push(ends.at(position) ?? 0)
    return offsets
  }

  function bytesOf(segment: Segment, start: number, end: number): Buffer {
    const bytes = Buffer.allocUnsafe(end - start)
    if (followed?.segment === segment) {
      fill(followed.file, bytes, start, segment.path)
      return bytes
    }
    const file = openSync(segment.path, 'r')
    try {
      fill(file, bytes, start, segment.path)
      return bytes
    } finally {
      closeSync(file)
    }
  }

  return {
    follow(segment, offsets, file) {
      followed = file === undefined ? undefined : { segment, offsets, file }
      if (file === undefined) remember(segment, offsets)
    },
    read(segment, first, last) {
      const offsets = offsetsOf(segment)
      const startOf = (seq: number): number => {
        const start = offsets.at(seq - segment.first)
        if (start === undefined) throw new RangeError(`${segment.path} has no event ${seq}`)
        return start
      }
      const start = startOf(first)
      let end = first
      while (end < last && startOf(end + 2) - start <= bytesAtOnce) end += 1
      const bytes = bytesOf(segment, start, startOf(end + 1))
      const lines: Uint8Array[] = []
      splitLines(bytes, (from, to) => lines.push(bytes.subarray(from, to)))
      if (lines.length !== end - first + 1) throw wasChanged(segment)
      return lines
    },
    base(segment) {
      const end = offsetsOf(segment).at(0) ?? 0
      return end === 0 ? undefined : bytesOf(segment, 0, end - 1)
    },
    bytes: bytesOf,
    forget: (segment) => void known.delete(segment),
  }
}

function wasChanged({ path }: Segment): Error {
  return new Error(`${path} was changed while the host was running`)
}

function fill(file: number, bytes: Buffer, position: number, path: string): void {
  for (let filled = 0; filled < bytes.length;) {
    const count = readSync(file, bytes, filled, bytes.length - filled, position + filled)
    if (count === 0) throw new Error(`${path} has become shorter while the host was running`)
    filled += count
  }
}
