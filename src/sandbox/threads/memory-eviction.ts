import type { AvailableMemory } from '../../base/memory/available-memory.ts'
import { type Clock, type ScheduledCall, withDeadline } from '../../base/time/clock.ts'
import type { Logger } from '../../base/log/log.ts'
import { IsolateError } from '../isolate.ts'

/** A worker, as far as its memory goes. */
export interface MemoryUser {
  /** Bytes of its heap, and of what it keeps outside of it. */
  memory(): number
  /** Bytes of the plugin in it that has most: all of the worker's, or if others have it too by how many it has grown for this one. */
  largest(): number
  /** Bytes of those up to which that plugin stays; half of them where it is urgent. */
  readonly spared: number
  /** Asks it to collect its garbage when it comes to it. */
  collectGarbage(): void
  /**
   * Ends whoever has most in it, or the worker, if others have it too and there is no time to ask. Resolves when its memory is given
   * back; where it was only asked, at once.
   */
  evict(reason: IsolateError, atOnce: boolean): Promise<void> | void
}

export interface MemoryEvictionSettings {
  clock: Clock
  logger: Logger
  /** Undefined where the system does not say: at first for ever, later for the moment. Nothing is done then. */
  availableMemory(): AvailableMemory | undefined
  workers(): Iterable<MemoryUser>
}

const mebibyte = 1024 * 1024
/** Part of the memory that is to be left, and bytes: at least what plugins fill between two looks, and no more than helps. */
const reservedShare = 1 / 8
const leastReserve = 40 * mebibyte
const mostReserve = 96 * mebibyte
/** Reserves that are left when garbage is collected. */
const lowReserves = 2
/** And when it is urgent: nobody is asked any more. */
const urgentReserves = 0.5
/** Bytes a second by which plugins fill memory on two processors, at most: a look comes before what is left is gone. */
const fastestGrowth = 400 * mebibyte
/** Milliseconds. */
const shortestInterval = 50
const longestInterval = 4_000
const collectionInterval = 10_000
/** Bytes of a worker from which on its garbage is worth that: twice what an idle one takes. */
const worthCollecting = 24 * mebibyte
/** For a collection that has just been asked for, before anybody goes for what may be garbage: not one that grows, by so many bytes. */
const collectionTime = 200
const growth = 4 * mebibyte
/** For one that is asked to let a plugin go, and until that counts as another time. */
const patience = 400
const forgotten = 2_000
/** For the memory of one that ends to be given back. It may be in one long call, and others fill the machine meanwhile. */
const terminationTime = 3_000
const warningInterval = 10 * 60_000

const reserveOf = ({ total }: AvailableMemory): number =>
  Math.min(Math.max(total * reservedShare, leastReserve), mostReserve)

/**
 * Ends the plugin that takes most memory before the system ends the host, and all plugins with it: each may keep within its limits, and
 * all of them together, or one on a small machine, be too much. Nobody is ended while there is memory for others.
 */
export function createMemoryEviction(settings: MemoryEvictionSettings): { close(): void } {
  const { clock, logger, availableMemory } = settings
  /** When it was last asked to let go of somebody. */
  const asked = new WeakMap<MemoryUser, number>()
  /** Nobody can do more about those. */
  const ending = new WeakSet<MemoryUser>()
  let collected = Number.NEGATIVE_INFINITY
  let warned = Number.NEGATIVE_INFINITY
  let closed = false
  let next: ScheduledCall | undefined
  /** What they had when there was memory enough. */
  const before = new WeakMap<MemoryUser, number>()
  noteSizes()
  /** What the system said last. */
  let memory = availableMemory()
  if (memory !== undefined) lookAgain(memory)

  function noteSizes(): void {
    for (const worker of settings.workers()) before.set(worker, worker.largest())
  }

  function collectGarbage(): void {
    if (clock.monotonic() - collected < collectionInterval) return
    collected = clock.monotonic()
    for (const worker of settings.workers()) if (worker.memory() > worthCollecting) worker.collectGarbage()
  }

  async function evictLargest(available: number, reserve: number): Promise<void> {
    const left = Math.round(available / mebibyte)
    const isUrgent = available < reserve * urgentReserves
    const workers = [...settings.workers()]
    const bySize = workers
      .filter((worker) => !ending.has(worker))
      .sort((one, other) => other.largest() - one.largest())
    const largest = bySize.find((one) => one.largest() > (isUrgent ? one.spared / 2 : one.spared))
    if (largest === undefined) {
      // It may all be what those have that end.
      if (bySize.length === workers.length) warn(left, bySize[0]?.largest() ?? 0)
      return
    }
    const hasGrown = largest.largest() > (before.get(largest) ?? 0) + growth
    if (!isUrgent && !hasGrown && clock.monotonic() - collected < collectionTime) return
    const since = clock.monotonic() - (asked.get(largest) ?? Number.NEGATIVE_INFINITY)
    const atOnce = isUrgent || (since > patience && since < forgotten)
    if (!atOnce && since <= patience) return
    asked.set(largest, clock.monotonic())
    const message = `hardly any memory was left (${left} MB), and it had most (${Math.round(largest.largest() / mebibyte)} MB): the plugin was ended before the system ends the host`
    const ended = largest.evict(new IsolateError('machine_out_of_memory', message), atOnce)
    if (ended === undefined) return
    ending.add(largest)
    const late = (): Error => new Error('it has not ended')
    await withDeadline(clock, terminationTime, ended, late).catch(() => undefined)
  }

  function warn(megabytesLeft: number, largest: number): void {
    if (clock.monotonic() - warned < warningInterval) return
    warned = clock.monotonic()
    logger.warn('Hardly any memory is left, and no plugin takes much of it: the system may end the host', {
      megabytesLeft,
      largestPlugin: Math.round(largest / mebibyte),
    })
  }

  async function look(): Promise<void> {
    const found = availableMemory()
    if (found !== undefined) await makeRoom(found)
    memory = found ?? memory
    if (memory !== undefined) lookAgain(memory)
  }

  async function makeRoom(found: AvailableMemory): Promise<void> {
    const { available } = found
    const reserve = reserveOf(found)
    if (available < reserve * lowReserves) collectGarbage()
    else noteSizes()
    if (available < reserve) await evictLargest(available, reserve)
  }

  /** Before what is left can be gone. */
  function lookAgain(found: AvailableMemory): void {
    if (closed) return
    const untilGone = ((found.available - reserveOf(found)) / fastestGrowth) * 1_000
    const interval = Math.min(Math.max(untilGone, shortestInterval), longestInterval)
    next = clock.schedule(interval, () => void look())
  }

  return {
    close() {
      closed = true
      next?.cancel()
    },
  }
}
