import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { type FileSystem, writeFileAtomically } from '../../base/files/file-system.ts'
import { privateFileMode } from '../../base/files/private-files.ts'
import type { FoldedEvents } from '../fold/stored-state.ts'
import { type Segment, segmentName, timeOf } from './segment.ts'
import type { SegmentLines } from './segment-lines.ts'

/** A place in a segment at which it can be cut: after an event. */
export interface Cut {
  /** Bytes up to there, and their hash. */
  bytes: number
  sha256: string
  /** Plugins that have an event since the cut before. */
  plugins: ReadonlySet<string>
  folded: FoldedEvents
}

export interface SplitParts {
  files: FileSystem
  directory: string
  /** Kept up to date. */
  segments: Segment[]
  lines: SegmentLines
  encodeBase(folded: FoldedEvents): string
}

/**
 * Makes several of a segment that has ended: older versions wrote all into one file. From the end on, each part is
 * written with the state at its top, and from then on the segment ends where the part begins; so whatever
 * interrupts this, nothing is there twice or missing. Answers whether it came to the end. Rejects when the disk
 * refuses; what is left is as good.
 */
export async function splitSegment(
  { files, directory, segments, lines, encodeBase }: SplitParts,
  segment: Segment,
  cuts: readonly Cut[],
  signal: AbortSignal,
): Promise<boolean> {
  for (const [position, cut] of [...cuts.entries()].reverse()) {
    if (signal.aborted) return false
    // Begun before, and the disk refused then: that part is there, and what it has is no more in here.
    if (cut.bytes >= segment.bytes) continue
    const { seq } = cut.folded.state
    const path = join(directory, segmentName(seq + 1))
    const base = Buffer.from(`${encodeBase(cut.folded)}\n`)
    const events = lines.bytes(segment, cut.bytes, segment.bytes)
    await writeFileAtomically(files, path, Buffer.concat([base, events]), privateFileMode)
    const part: Segment = {
      path,
      first: seq + 1,
      last: segment.last,
      bytes: base.length + events.length,
      sha256: createHash('sha256').update(base).update(events).digest('hex'),
      changed: await timeOf(files, path),
      plugins: new Set(cuts[position + 1]?.plugins ?? segment.plugins),
    }
    segments.splice(segments.indexOf(segment) + 1, 0, part)
    segment.last = seq
    segment.bytes = cut.bytes
    segment.sha256 = cut.sha256
    lines.forget(segment)
  }
  // What was copied is in the way of nothing but other files.
  const handle = await files.open(segment.path, 'r+')
  try {
    await handle.truncate(segment.bytes)
    await handle.datasync()
  } finally {
    await handle.close()
  }
  segment.changed = await timeOf(files, segment.path)
  segment.plugins = new Set(cuts[0]?.plugins)
  return true
}
