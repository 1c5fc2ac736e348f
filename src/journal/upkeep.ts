import type { Clock } from '../base/time/clock.ts'
import { messageOf } from '../base/problem.ts'
import { encodeCheckpoint, writeCheckpoint } from './segments/checkpoint-file.ts'
import { encodeLine } from './lines/journal-line.ts'
import type { OpenedSegments, OpenSettings } from './segments/open-segments.ts'
import { decodeBase, sizeOfSegment } from './segments/segment.ts'
import { splitSegment } from './segments/split.ts'
import { changeStoredState, type FoldedEvents, foldVersion, storeState } from './fold/stored-state.ts'

/** From how many bytes on a segment ends, at least: some four thousand events, which are folded in a tenth of a second. */
export const defaultSegmentBytes = 1024 * 1024
/** Bytes of a segment for which there may be one more event after the last checkpoint. */
const bytesOfEvent = 1_024
/** After a failure the segment grows by this part of itself before another try. */
const retryGrowth = 0.25

/**
 * What keeps the next start short, beside the appends: a new segment when the last one is large enough, and a
 * checkpoint every now and then and at the end. None of it is needed for what was acknowledged, so whatever fails is
 * told in the log and tried again.
 */
export interface Upkeep {
  /** To be told when events were taken into the fold that are the last ones on disk. */
  committed(): void
  /** Whether the segment is large enough. */
  rotationIsDue(): boolean
  /** Begins a new one. Never rejects. */
  rotate(): Promise<void>
  /** Waits for what is being written, and writes the last checkpoint. */
  close(): Promise<void>
}

export interface UpkeepSettings extends Pick<
  OpenSettings,
  'directory' | 'files' | 'logger' | 'vault' | 'segmentBytes'
> {
  clock: Clock
  opened: OpenedSegments
}

export function createUpkeep(settings: UpkeepSettings): Upkeep {
  const { directory, files, clock, logger, vault, segmentBytes, opened } = settings
  const { segments, lines, running, file, cuts } = opened
  const last = segments.at(-1)
  let largeEnough = sizeOfSegment(last === undefined ? 0 : (lines.base(last)?.length ?? 0), segmentBytes)
  // It can only be cut when it has ended.
  if (last !== undefined && cuts.has(last)) largeEnough = 0
  const eventsBetween = Math.ceil(segmentBytes / bytesOfEvent)
  /** The last event that a checkpoint has, and the bytes that were written up to then. */
  let known = { seq: running.live.seq - opened.folded, written: 0, size: 0 }
  let failing = false
  let checkpointing: Promise<void> | undefined
  const closing = new AbortController()
  let splitting: Promise<void> | undefined
  let rotating = false
  /** Those that were not cut to the end by the last run; the one that is written to ends first. */
  let mayBeCut = [...cuts.keys()].some((segment) => segment !== last)

  /** The state as the first line of a segment. Throws when it could not be read back. */
  function encodeBase(folded: FoldedEvents): string {
    const base = storeState(folded)
    const text = encodeLine({ version: 1, fold: foldVersion, base: changeStoredState(vault.seal, base) })
    const read = decodeBase(Buffer.from(text))
    const again = read && changeStoredState(vault.open, read.base)
    // What it follows from may be moved away once the line is there.
    if (JSON.stringify(again) !== JSON.stringify(base)) throw new Error('the state would not be the same')
    return text
  }

  /** Until a segment that is far too large has been cut, each start is to find where. */
  const isCut = (): boolean => cuts.size === 0

  async function checkpoint(): Promise<void> {
    const { seq } = running.live
    try {
      const content = encodeCheckpoint(running.folded, segments, {
        sha256: file.sha256(),
        now: clock.now(),
        vault,
      })
      known = { seq, written: file.written, size: content.length }
      await writeCheckpoint(files, directory, content)
      failing = false
    } catch (error) {
      told('The checkpoint of the journal could not be written; the next start takes longer', error)
    }
  }

  function told(message: string, error: unknown): void {
    if (!failing) logger.warn(message, { error: messageOf(error) })
    failing = true
  }

  function startSplit(): void {
    mayBeCut = false
    if (cuts.size > 0) splitting ??= split().finally(splitHasEnded)
  }

  /** The next start would be as long as this one until somebody appends. */
  function splitHasEnded(): void {
    splitting = undefined
    // What is on disk and not in the fold yet is about to be told.
    const isTold = segments.at(-1)?.last === running.live.seq && !rotating
    if (isTold && !closing.signal.aborted) checkpointIfDue()
  }

  function checkpointIfDue(): void {
    const isDue =
      running.live.seq - known.seq >= eventsBetween && file.written - known.written >= known.size && isCut()
    if (isDue) checkpointing ??= checkpoint().finally(() => (checkpointing = undefined))
  }

  async function split(): Promise<void> {
    try {
      for (const [segment, list] of cuts) {
        if (segment === segments.at(-1)) continue
        const parts = { files, directory, segments, lines, encodeBase }
        if (!(await splitSegment(parts, segment, list, closing.signal))) return
        cuts.delete(segment)
      }
    } catch (error) {
      told('A large file of the journal could not be cut into segments; the next start takes longer', error)
    }
  }

  return {
    committed() {
      if (mayBeCut) startSplit()
      checkpointIfDue()
    },
    rotationIsDue: () => (file.size ?? 0) >= largeEnough,
    async rotate() {
      rotating = true
      try {
        const base = encodeBase(running.folded)
        await file.begin(base)
        largeEnough = sizeOfSegment(base.length, segmentBytes)
        startSplit()
      } catch (error) {
        largeEnough = Math.ceil(Math.max(largeEnough, file.size ?? 0) * (1 + retryGrowth))
        told('A new segment of the journal could not be begun; the present one grows on', error)
      } finally {
        rotating = false
      }
    },
    async close() {
      closing.abort()
      await splitting
      await checkpointing
      if (file.written > 0 && running.live.seq !== known.seq && isCut()) await checkpoint()
    },
  }
}
