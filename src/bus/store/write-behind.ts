import { type Clock, scheduleDeadline, type ScheduledCall } from '../../base/time/clock.ts'
import { createDeferred, type Deferred } from '../../base/time/deferred.ts'
import type { Logger } from '../../base/log/log.ts'
import { messageOf } from '../../base/problem.ts'
import { diskRetryDelay } from '../../base/files/disk-retry-delays.ts'
import { storageFault } from '../../base/files/storage-fault.ts'
import { type RecordChange, type RecordFolder, type Records, RecordsUnavailable } from './record-folder.ts'

/** Milliseconds after the first change in which it is written, together with all that followed. */
export const writeBehindDelay = 500
/**
 * Milliseconds in which the disk is to answer each thing that is asked of it: when it has not, what the broker keeps is in memory alone, as with one
 * that refuses. Who waits may do so for longer, as one write follows another, and a large one has many pieces.
 */
export const writtenTimeout = 2_000
/** What is encoded and written at a time; all of most writes. Between two, others have their turn. */
const pieceLimits = { records: 1_000, bytes: 1024 * 1024 }

/**
 * In which order records are written that have changed in the same time, as the process may be killed between any two batches:
 *
 * - `alone`: first.
 * - `after`: when those are on disk. Such a record may say that what is in one of them is not its concern any more.
 * - `last`: when all else is on disk, and what was to go is gone, as they were when the write began. They tell of the others.
 */
export type WritePhase = 'alone' | 'after' | 'last'

/** Records that are in memory first, and on disk a little later, or as soon as somebody waits for that. */
export interface WriteBehind {
  /** How many writes have begun. What happens during one is for the next. */
  readonly writes: number
  /** The record is there, or has changed; `encode` tells what it is when it is written. */
  set(key: string, encode: () => Buffer): void
  delete(key: string): void
  /**
   * Writes what is waiting at once, also through the memory of the system. Resolves when all that has been set or deleted until now is on disk,
   * in the order in which it is asked; or when the disk refuses it, or has not answered in time. Undefined: there is nothing to wait for.
   */
  written(): Promise<void> | undefined
  /**
   * Tells of each record on disk, unless it has been set or deleted since: `take` sets what is to stay, `taken` is
   * called after the last. On a disk that refuses that happens later. Never rejects.
   */
  load(take: (key: string, value: Buffer) => void, taken: () => void): Promise<void>
  /** Why nothing is written now; `lasting`: nor will be. */
  readonly failure: WriteFailure | undefined
  /** Writes what is waiting, as far as that is possible. Never rejects. */
  close(): Promise<void>
}

/**
 * Records that are noted as gone while nobody knows whether they are on disk: each client that comes and goes names some.
 * Beyond it what an earlier run has kept may come back.
 */
export const unreadDeletionsLimit = 50_000

export interface WriteFailure {
  reason: string
  lasting: boolean
}

export function createWriteBehind(settings: {
  folder: RecordFolder
  phaseOf: (key: string) => WritePhase
  clock: Clock
  logger: Logger
}): WriteBehind {
  const { folder, phaseOf, clock, logger } = settings
  const live = new Map<string, () => Buffer>()
  /** What may be on disk. A record that comes and goes between two writes is not among them, and never written. */
  const stored = new Set<string>()
  /** What is to be written, or to go. */
  let dirty = new Set<string>()
  let records: Records | undefined
  /** What is told of the records on disk, as long as it has not been. */
  let unread: Parameters<WriteBehind['load']> | undefined
  let taking: string | undefined
  let failure: WriteFailure | undefined
  let failures = 0
  let writes = 0
  let timer: ScheduledCall | undefined
  let writing = Promise.resolve()
  let isWriting = false
  /** Those who wait for the write that goes on, and for the next one. */
  let present: Deferred<undefined> | undefined
  let next: Deferred<undefined> | undefined
  /** The disk has not answered a write in time: until it has ended, nobody waits. */
  let isStuck = false
  let closed = false

  function schedule(delay: number): void {
    if (!closed) timer ??= clock.schedule(delay, writeSoon)
  }

  function writeSoon(): void {
    timer?.cancel()
    timer = undefined
    writing = writing.then(attempt)
  }

  function release(): void {
    present?.resolve(undefined)
    present = undefined
  }

  function releaseNext(): void {
    next?.resolve(undefined)
    next = undefined
  }

  const isAwaited = (): boolean => next !== undefined

  async function inTime<T>(answer: Promise<T>): Promise<T> {
    const limit = scheduleDeadline(clock, writtenTimeout, () => {
      // Nobody waits then, as has been told.
      if (isStuck || failure !== undefined) return
      logger.warn(
        'The disk is slow to take what the broker keeps; until it has, all is confirmed from memory',
      )
      isStuck = true
      release()
      releaseNext()
    })
    return await answer.finally(limit.cancel)
  }

  function touch(key: string): void {
    dirty.add(key)
    schedule(writeBehindDelay)
  }

  function tell(take: (key: string, value: Buffer) => void, key: string, value: Buffer): void {
    stored.add(key)
    if (dirty.has(key) || live.has(key)) return
    taking = key
    take(key, value)
    taking = undefined
    if (!live.has(key)) touch(key)
  }

  async function open(): Promise<Records> {
    if (records !== undefined) return records
    const [take, taken] = unread ?? []
    const opened = await folder.open(take && ((key, value) => tell(take, key, value)))
    unread = undefined
    taken?.()
    if (opened.anew) {
      stored.clear()
      for (const key of live.keys()) dirty.add(key)
    }
    return (records = opened.records)
  }

  function changeOf(key: string, encode: (() => Buffer) | undefined): RecordChange {
    const value = encode?.()
    if (value === undefined) stored.delete(key)
    else stored.add(key)
    return value === undefined ? { key } : { key, value }
  }

  /**
   * All that is there when a write begins is written, also what goes meanwhile: what takes its place is for the next write.
   * For the same reason what goes does so after what has come.
   */
  function* ordered(keys: ReadonlySet<string>): Generator<RecordChange> {
    const phases: Record<WritePhase | 'gone', [string, (() => Buffer) | undefined][]> = {
      ...{ alone: [], after: [], gone: [], last: [] },
    }
    for (const key of keys) {
      const encode = live.get(key)
      const phase = phaseOf(key)
      phases[encode === undefined && phase !== 'last' ? 'gone' : phase].push([key, encode])
      // Whoever deletes it meanwhile is to know that it will be on disk.
      if (encode !== undefined) stored.add(key)
    }
    const last = phases.last.map(([key, encode]) => changeOf(key, encode))
    for (const phase of [phases.alone, phases.after, phases.gone])
      for (const [key, encode] of phase) yield changeOf(key, encode)
    yield* last
  }

  function* changes(keys: ReadonlySet<string>): Generator<RecordChange[]> {
    let piece: RecordChange[] = []
    let bytes = 0
    for (const change of ordered(keys)) {
      piece.push(change)
      bytes += change.key.length + (change.value?.length ?? 0)
      if (piece.length < pieceLimits.records && bytes < pieceLimits.bytes) continue
      yield piece
      piece = []
      bytes = 0
    }
    if (piece.length > 0) yield piece
  }

  async function attempt(): Promise<void> {
    present = next
    next = undefined
    isWriting = true
    await write(present !== undefined)
    isWriting = false
    if (isStuck && failure === undefined) logger.info('The disk has taken what the broker keeps')
    isStuck = false
    release()
    if (failure !== undefined) releaseNext()
    else if (isAwaited()) writeSoon()
  }

  async function write(through: boolean): Promise<void> {
    let keys = new Set<string>()
    try {
      // What an earlier run has kept takes as long to be read as it is much; nobody is served before.
      const target = await (unread === undefined ? inTime(open()) : open())
      keys = dirty
      dirty = new Set()
      writes += 1
      for (const piece of changes(keys)) await inTime(target.write(piece, through))
      // What somebody waits for may have been written a moment ago, into the memory of the system alone.
      if (through && keys.size === 0) await inTime(target.write([], through))
    } catch (error) {
      for (const key of keys) {
        dirty.add(key)
        stored.add(key)
      }
      await fail(error)
      return
    }
    if (failure !== undefined) logger.info('What the broker keeps is written to disk again')
    failure = undefined
    failures = 0
    if (dirty.size > 0) schedule(writeBehindDelay)
  }

  /** After a write that failed half-way only opening it anew makes the folder whole. */
  async function fail(error: unknown): Promise<void> {
    await records?.close().catch(() => undefined)
    records = undefined
    const reason = storageFault(error) ?? messageOf(error)
    const lasting = error instanceof RecordsUnavailable
    if (failure?.reason !== reason) {
      logger.error(
        lasting
          ? 'The broker keeps everything in memory only: a restart forgets it'
          : 'What the broker keeps cannot be written to disk; it goes on in memory, and tries again',
        { error: reason },
      )
    }
    failure = { reason, lasting }
    if (lasting) for (const held of [live, stored, dirty]) held.clear()
    else schedule(diskRetryDelay(failures++))
  }

  return {
    set(key, encode) {
      if (failure?.lasting === true) return
      live.set(key, encode)
      if (key !== taking) touch(key)
    },
    delete(key) {
      if (failure?.lasting === true) return
      live.delete(key)
      if (key === taking) return
      const mayBeStored = stored.has(key) || (unread !== undefined && dirty.size < unreadDeletionsLimit)
      if (mayBeStored || (unread !== undefined && dirty.has(key))) touch(key)
      else dirty.delete(key)
    },
    written() {
      const isWritten = dirty.size === 0 && !isWriting
      if (isWritten || isStuck || failure !== undefined || closed) return undefined
      if (next === undefined && !isWriting) writeSoon()
      return (next ??= createDeferred()).promise
    },
    async load(take, taken) {
      // Nothing is made before there is something to write: a start that fails leaves no trace.
      if (!(await folder.exists())) return
      unread = [take, taken]
      writing = writing.then(attempt)
      await writing
    },
    get failure() {
      return failure
    },
    get writes() {
      return writes
    },
    async close() {
      timer?.cancel()
      closed = true
      await writing
      // Of those for whom somebody still waits, and of what has changed during the last one.
      await writing
      if (dirty.size > 0) await attempt()
      if (dirty.size > 0) logger.error('What the broker kept last could not be written to disk, and is lost')
      await records?.close().catch(() => undefined)
      records = undefined
    },
  }
}
