import { isDeepStrictEqual } from 'node:util'
import type { FileSystem } from '../../base/files/file-system.ts'
import type { Logger } from '../../base/log/log.ts'
import type { JournalEvent } from '../../schema/journal/journal-event.ts'
import type { SegmentBase, StoredState } from '../../schema/journal/stored-state.ts'
import { readCheckpoint } from './checkpoint-file.ts'
import type { MemoryCheckpoints } from '../fold/memory-checkpoints.ts'
import { createJournalFile, type JournalFile, segmentFlags } from './journal-file.ts'
import { OtherFoldError, type LineReceiver, readSegments } from './read-segments.ts'
import { createRunningFold, type RunningFold } from '../fold/running-fold.ts'
import { findSegments, type FoundSegment, type Segment, sizeOfSegment } from './segment.ts'
import { createSegmentLines, type SegmentLines } from './segment-lines.ts'
import { changeStoredState, foldVersion, restoreState, storeState } from '../fold/stored-state.ts'
import type { Cut } from './split.ts'
import type { Vault } from '../vault.ts'

/** Brings the fold to where the journal ends, by the shortest way that can be believed. */

/** A file that is so many times as large as a segment is made smaller. */
const oversize = 4

export interface OpenedSegments {
  /** Oldest first; the last one is written to. */
  segments: Segment[]
  lines: SegmentLines
  running: RunningFold
  file: JournalFile
  /** How many events were folded: those that no checkpoint knew. */
  folded: number
  /** Where segments that are far too large can be cut. */
  cuts: Map<Segment, Cut[]>
}

export interface OpenSettings {
  directory: string
  files: FileSystem
  logger: Logger
  acknowledged: number
  witness: string
  /** No checkpoint is asked. */
  whole: boolean
  vault: Vault
  segmentBytes: number
  /** As in `JournalFileSettings`. */
  isCopy: boolean
  /** Gets some of the folds on the way. */
  checkpoints: MemoryCheckpoints
  parse(line: Uint8Array): JournalEvent
}

export async function openSegments(settings: OpenSettings): Promise<OpenedSegments> {
  const { directory, files, logger, vault, segmentBytes, isCopy, checkpoints, parse } = settings
  const open = (stored: StoredState): StoredState => changeStoredState(vault.open, stored)
  const found = await findSegments(files, directory)
  const running = createRunningFold()
  const lines = createSegmentLines()
  const [oldest] = found
  if (oldest === undefined) {
    const segments: Segment[] = []
    const file = createJournalFile({ files, directory, segments, lines, read: undefined, isCopy })
    return { segments, lines, running, file, folded: 0, cuts: new Map() }
  }

  const large = new Set(found.filter(({ size }) => size > oversize * segmentBytes).map(({ path }) => path))
  const known = settings.whole
    ? undefined
    : await readCheckpoint(files, directory, found, (base) => restoreState(open(base)))
  if (known !== undefined) {
    running.resume(known.folded)
    checkpoints.note(running.state)
  }

  /** Whether the fold has a beginning: at the first event, in a checkpoint, or at the top of a segment. */
  let begun = known !== undefined || oldest.first === 1
  let folded = 0
  const receiver: LineReceiver = {
    get seq() {
      return running.live.seq
    },
    event(line) {
      const event = parse(line)
      running.take(event)
      folded += 1
      if (checkpoints.wants(event.seq)) checkpoints.note(running.state)
      return event.plugin
    },
    base({ fold, base }: SegmentBase) {
      if (!begun) {
        if (fold !== foldVersion) throw new OtherFoldError(whyNotFrom(oldest))
        running.resume(restoreState(open(base)))
        begun = true
        return
      }
      // A state that was made by other rules is only not asked: the events before it say the same by these.
      if (fold !== foldVersion) return
      if (!isDeepStrictEqual(open(base), asJson(storeState(running.folded)))) {
        throw new Error('it does not begin with the state that follows from the events before it')
      }
    },
  }

  const cuts = new Map<Segment, Cut[]>()
  /** Plugins of the events since the last cut, and where that was. */
  let since = { plugins: new Set<string>(), bytes: 0, path: '' }
  let wanted = segmentBytes
  const onEvent = (segment: Segment, plugin: string | null, hashSoFar: () => string): void => {
    if (!large.has(segment.path)) return
    if (since.path !== segment.path) since = { plugins: new Set(), bytes: 0, path: segment.path }
    if (plugin !== null) since.plugins.add(plugin)
    const { bytes } = segment
    if (bytes - since.bytes < wanted) return
    const { lastOf, requests, ...rest } = running.folded
    const now = { ...rest, lastOf: new Map(lastOf), requests: new Map(requests) }
    wanted = sizeOfSegment(JSON.stringify(storeState(now)).length, segmentBytes)
    if (bytes - since.bytes < wanted) return
    const cut = { bytes, sha256: hashSoFar(), plugins: since.plugins, folded: now }
    cuts.set(segment, [...(cuts.get(segment) ?? []), cut])
    since = { plugins: new Set(), bytes, path: segment.path }
    wanted = segmentBytes
  }

  const read = await readSegments(files, found, known?.segments ?? [], receiver, {
    acknowledged: settings.acknowledged,
    witness: settings.witness,
    lastFlags: segmentFlags(isCopy).existing,
    onTorn: (path, text) =>
      logger.warn('Cut off an incomplete last line of the journal, left by a crash', {
        path,
        bytes: text.length,
      }),
    onEvent,
  })
  const { segments } = read
  for (const [segment, list] of cuts) {
    const inside = list.filter(({ bytes }) => bytes < segment.bytes)
    if (inside.length > 0) cuts.set(segment, inside)
    else cuts.delete(segment)
  }
  const file = createJournalFile({ files, directory, segments, lines, read, isCopy })
  return { segments, lines, running, file, folded, cuts }
}

/** As it is read back. */
function asJson(stored: StoredState): unknown {
  return JSON.parse(JSON.stringify(stored))
}

function whyNotFrom({ path, first }: FoundSegment): string {
  return (
    `${path} begins with a state that another version of Lupine has made. Put the files with the events up to ` +
    `${first - 1} back for one start, or start that version.`
  )
}
