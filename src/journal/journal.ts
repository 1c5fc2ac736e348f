import { join } from 'node:path'
import type { Clock } from '../base/time/clock.ts'
import type { FileSystem } from '../base/files/file-system.ts'
import type { JsonObject } from '../base/text/json.ts'
import type { Logger } from '../base/log/log.ts'
import { messageOf, Problem, shuttingDown } from '../base/problem.ts'
import { storageFault } from '../base/files/storage-fault.ts'
import {
  type Fact,
  type JournalEvent,
  journalFormatVersion,
  type Origin,
} from '../schema/journal/journal-event.ts'
import { type AppendQueue, type AppendQueueParts, createAppendQueue } from './append-queue.ts'
import { createMemoryCheckpoints } from './fold/memory-checkpoints.ts'
import { fold, type HostState, type LiveState } from './fold/evolve.ts'
import { createEventReader, goneProblem } from './segments/event-reader.ts'
import { encodeLine } from './lines/journal-line.ts'
import { openSegments } from './segments/open-segments.ts'
import { changeStoredState } from './fold/stored-state.ts'
import { createRefusedWrites, type RefusedWrites } from './refused-writes.ts'
import { createSlowWrites } from './slow-writes.ts'
import { journalFileName } from './segments/segment.ts'
import { parseLine } from './lines/stored-line.ts'
import { createUpkeep, defaultSegmentBytes } from './upkeep.ts'
import { type Upcasters, upcasters } from './lines/upcast.ts'
import { changeEvent, noVault, type Vault } from './vault.ts'

export interface Journal {
  /** Fold of all that is on disk. */
  readonly state: HostState
  /** The same as it goes on: what one plugin is, say, without a copy of all the others for the next event. */
  readonly live: LiveState
  /** Number of the first event that is here: more than 1 when older segments were moved away. */
  readonly first: number
  /**
   * Writes facts down, all of one call or none; resolves when they are on disk and `state` has them. Rejects
   * with `invalid_transition` when a machine refuses one, with `storage_full` when the disk does.
   */
  append(facts: readonly Fact[], by: Origin, requestKey?: string): Promise<JournalEvent[]>
  /**
   * Events after `after` that are here, oldest first; of one plugin, or all. Fewer than there are when they are
   * large (some megabytes together), but one at least: read on after the last one until there is none.
   */
  read(filter: { plugin?: string | undefined; after?: number; limit: number }): JournalEvent[]
  /** The plugin's latest event, if it is here. */
  last(plugin: string): JournalEvent | undefined
  /** State right after the event with this number; 0 is before the first. Throws `not_found` for what is not here. */
  stateAt(seq: number): HostState
  /**
   * Resolves when all that was begun about a plugin is written down, and `state` has it, also what was refused because nobody
   * could know. Absent: what is refused is not there.
   */
  finishBegun?(plugin: string): Promise<void>
  /** Id of the event with this number; undefined when there is none, or it is not known here. */
  eventId(seq: number): string | undefined
  /** The plugin that a remembered request was about. */
  recallRequest(requestKey: string): string | undefined
  /** Why appends wait for long; undefined, or absent: they do not. */
  readonly stall?: string | undefined
  /** What the disk has refused last; in a fleet, of this host's copy. */
  readonly refused?: Pick<RefusedWrites, 'reason' | 'takenElsewhere' | 'subscribe'>
  /** Hears of every event once it is on disk, in order. */
  subscribe(listener: (event: JournalEvent) => void): () => void
  /** Hears of each write that begins, as `AppendQueueParts.writing`. A fleet's journal is not written here. */
  onWriting?(listener: AppendQueueParts['writing']): () => void
  /** Waits for what is being written, and leaves a checkpoint for the next start. */
  close(): Promise<void>
}

export interface JournalSettings {
  directory: string
  files: FileSystem
  clock: Clock
  logger: Logger
  /** Number of the last event that the snapshot has seen: a line up to there was acknowledged. */
  acknowledged?: number
  /** Name of the file that says so; default: that of the snapshot. */
  witness?: string
  upcasters?: Upcasters
  /** Encrypts what is secret; default: nothing is. */
  vault?: Vault
  /** Reads and checks every line, whatever the checkpoint says. */
  whole?: boolean
  /** From how many bytes on a segment ends, at least. */
  segmentBytes?: number | undefined
  /** The events are kept elsewhere, too: whoever appends does not wait for the disk. */
  isCopy?: boolean
  /** How facts become events of this journal; default: they are numbered and written here. */
  createQueue?: (parts: AppendQueueParts) => AppendQueue
}

/** Opens the journal and folds it. Throws `DamagedJournalError` at what it cannot believe. */
export async function openJournal(settings: JournalSettings): Promise<Journal> {
  const { clock, directory, logger } = settings
  const lift = settings.upcasters ?? upcasters
  const vault = settings.vault ?? noVault
  const segmentBytes = settings.segmentBytes ?? defaultSegmentBytes
  const checkpoints = createMemoryCheckpoints()
  const listeners = new Set<(event: JournalEvent) => void>()
  const writingListeners = new Set<AppendQueueParts['writing']>()
  const parse = (line: Uint8Array): JournalEvent => parseLine(line, lift, vault)

  const opened = await openSegments({
    ...settings,
    acknowledged: settings.acknowledged ?? 0,
    witness: settings.witness ?? '.host.json',
    whole: settings.whole ?? false,
    isCopy: settings.isCopy ?? false,
    vault,
    segmentBytes,
    checkpoints,
    parse,
  })
  const { segments, lines, running, file } = opened
  const upkeep = createUpkeep({ ...settings, vault, segmentBytes, opened })
  const reader = createEventReader(segments, lines, parse, (stored) => changeStoredState(vault.open, stored))
  const path = join(directory, journalFileName)
  const slowWrites = createSlowWrites({ clock, logger, path })
  const refused = createRefusedWrites({ logger, path, isInPlace: file.isInPlace })
  let closed = false

  const createQueue = settings.createQueue ?? createAppendQueue
  const queue = createQueue({
    now: () => clock.now(),
    state: () => running.state,
    live: running.live,
    encode: (event) => encodeLine(changeEvent(vault.seal, asStored(event))),
    write(written) {
      const write = file.append(written)
      slowWrites.watch(write)
      refused.watch(write)
      return write
    },
    writing(last, state) {
      for (const listener of writingListeners) listener(last, state)
    },
    commit(event, applied) {
      running.commit(event, applied)
      if (checkpoints.wants(event.seq)) checkpoints.note(running.state)
      for (const listener of listeners) listener(event)
    },
    committed: () => upkeep.committed(),
    rotationIsDue: () => upkeep.rotationIsDue(),
    rotate: () => upkeep.rotate(),
    problemOf(error) {
      const path = segments.at(-1)?.path ?? directory
      logger.error('The journal could not be written; the change was refused', {
        path,
        error: messageOf(error),
      })
      const advice = storageFault(error) ?? 'Make room in the data directory and try again.'
      return new Problem(
        'storage_full',
        `The journal could not be written (${messageOf(error)}), so the command was not carried out to its end. ${advice}`,
        { cause: error },
      )
    },
  })

  function stateAt(seq: number): HostState {
    const { state } = running
    if (!Number.isInteger(seq) || seq < 0 || seq > state.seq) {
      throw new Problem('not_found', `The journal has the events 0 to ${state.seq}; there is no ${seq}.`)
    }
    // The one that is asked for most: nothing is read for it.
    if (seq === state.seq) return state
    const kept = checkpoints.before(seq)
    let found = kept !== undefined && kept.seq >= reader.startOf(seq) ? kept : reader.base(seq)?.state
    if (found === undefined || reader.first > seq + 1) throw goneProblem(reader.first)
    while (found.seq < seq) {
      const events = reader.read(found.seq + 1, seq)
      if (events[0]?.seq !== found.seq + 1) throw goneProblem(reader.first)
      found = foldNoting(found, events)
    }
    return found
  }

  /** Keeps some of the folds on the way: whoever asks for a moment asks for those around it. */
  function foldNoting(from: HostState, events: readonly JournalEvent[]): HostState {
    const kept = events.findIndex(({ seq }) => checkpoints.wants(seq))
    if (kept === -1) return fold(events, from)
    const state = fold(events.slice(0, kept + 1), from)
    checkpoints.note(state)
    return foldNoting(state, events.slice(kept + 1))
  }

  function readEvents({ plugin, after = 0, limit }: Parameters<Journal['read']>[0]): JournalEvent[] {
    const { first } = reader
    const from = Math.max(0, after, first - 1)
    const events =
      plugin === undefined
        ? reader.read(from + 1, Math.min(running.live.seq, from + limit))
        : reader.ofPlugin(plugin, from, limit)
    // Files were moved away just now: what was asked for begins later.
    return events.length === 0 && reader.first !== first ? readEvents({ plugin, after, limit }) : events
  }

  return {
    get state() {
      return running.state
    },
    live: running.live,
    get stall() {
      return slowWrites.reason
    },
    refused,
    get first() {
      return reader.first
    },
    append(facts, by, requestKey) {
      if (!closed) return queue.append(facts, by, requestKey)
      return Promise.reject(shuttingDown())
    },
    read: readEvents,
    last(plugin) {
      const seq = running.lastOf(plugin)
      return seq === undefined ? undefined : reader.read(seq, seq).find((event) => event.seq === seq)
    },
    stateAt,
    eventId(seq) {
      if (seq === running.live.seq) return running.folded.event ?? undefined
      if (seq === reader.first - 1) return reader.base(seq)?.event ?? undefined
      return reader.read(seq, seq).find((event) => event.seq === seq)?.id
    },
    recallRequest: (requestKey) => running.folded.requests.get(requestKey),
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    onWriting(listener) {
      writingListeners.add(listener)
      return () => void writingListeners.delete(listener)
    },
    async close() {
      closed = true
      await queue.idle()
      await upkeep.close()
      await file.close()
    },
  }
}

/** Events are made of what JSON says: the queue has seen to that. */
function asStored(event: JournalEvent): JsonObject {
  return { version: journalFormatVersion, ...event } as unknown as JsonObject
}
