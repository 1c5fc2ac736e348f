import type { Clock, ScheduledCall } from '../../base/time/clock.ts'
import { every } from '../../base/time/every.ts'
import { createCells, type TurnRules, turnCells } from '../../schema/worker/shared-cells.ts'
import type { SandboxLimits } from '../limits.ts'
import type { ThreadTimes } from './thread-times.ts'

/** The host's end of the cells in which a shared worker shows whose turn it is. */
export interface TurnWatchdog {
  /** For the worker. */
  readonly rules: TurnRules
  /**
   * Whom the end of the worker is to be put down to; undefined when nobody has run. `memory`: nothing more fits into the worker;
   * `machine memory`: into the machine.
   */
  culprit(kind: 'memory' | 'machine memory' | 'other'): number | undefined
  /** Bytes by which the worker's memory has grown for the isolate for which it has grown most. */
  largestGrown(): number
  /** The isolate that has grown most is to go, if it has grown much: now, and not when the machine has memory again. */
  evictLargest(): void
  /** Beats, until nobody has had a turn for a while; then the worker asks for it anew. Idempotent. */
  start(): void
  stop(): void
}

export interface TurnWatchdogSettings {
  clock: Clock
  limits: SandboxLimits
  /** Of the worker's thread. Undefined: nobody knows. */
  threadTimes(): ThreadTimes | undefined
  /** This isolate runs, and cannot be asked to stop: only the end of the worker stops it. */
  hung(isolate: number): void
}

/** Share of a beat for which the worker has to have had a processor, or else the beat is made longer. */
const busyShare = 0.8
/** So many times as long at most: who waits for something else takes no processor time, and others wait for it all the same. */
const longestBeat = 3
/** The same while others have the processors. */
const longestStarvedBeat = 5
/** Beats for which the machine counts as short of memory. */
const shortBeats = 8
/** Share of the time that a thread waits for a processor from which on it counts as starved. */
const starvedShare = 0.2

interface Times {
  elapsed: number
  /** Processor time of all threads. */
  ofProcess: number
  ofThread: ThreadTimes | undefined
}

/** The processor time that there was for the worker, and how often its beat may be made longer for want of it. */
function since(before: Times, now: Times): { had: number; longest: number } {
  if (before.ofThread === undefined || now.ofThread === undefined)
    return { had: now.ofProcess - before.ofProcess, longest: longestBeat }
  const waited = now.ofThread.waited - before.ofThread.waited
  const isStarved = waited > (now.elapsed - before.elapsed) * starvedShare
  return {
    had: now.ofThread.ran - before.ofThread.ran,
    longest: isStarved ? longestStarvedBeat : longestBeat,
  }
}

/**
 * Beats the time for a shared worker, and looks whether it still takes turns. Silence is counted in beats, not
 * by the clock: a host that was asleep, or busy, or on a machine with other things to do, does not blame a plugin for it.
 */
export function createTurnWatchdog(settings: TurnWatchdogSettings): TurnWatchdog {
  const { clock, limits, threadTimes, hung } = settings
  const buffer = createCells(turnCells)
  const cells = new Int32Array(buffer)
  const megabyte = 1024 * 1024
  let ticking: ScheduledCall | undefined
  let lastProgress = 0
  let silence = 0
  /** Times in a row, a beat apart, that nobody had a turn, and what `progress` was then. */
  let idle = 0
  let seenProgress = 0
  let ticks = 0
  /** When it stopped to beat. */
  let pausedAt: number | undefined
  /** When the last beat was, on clocks of their own. */
  let last = times()

  function times(): Times {
    // Nobody is looked at between two turns.
    const isWatched = Atomics.load(cells, turnCells.running) !== 0
    return {
      elapsed: clock.monotonic(),
      ofProcess: clock.processorTime(),
      ofThread: isWatched ? threadTimes() : undefined,
    }
  }

  function tick(): void {
    idle = isIdle() ? idle + 1 : 0
    if (idle >= limits.restBeats && pause()) return
    ticks += 1
    const now = times()
    const { had, longest } = since(last, now)
    if (had < limits.beatInterval * busyShare && ticks < longest) return
    ticks = 0
    last = now
    beat()
  }

  function beat(): void {
    Atomics.add(cells, turnCells.beat, 1)
    const short = Atomics.load(cells, turnCells.short)
    // The worker may be about to set it to 0.
    if (short > 0) Atomics.compareExchange(cells, turnCells.short, short, short - 1)
    const running = Atomics.load(cells, turnCells.running)
    const progress = Atomics.load(cells, turnCells.progress)
    const isCollecting = Atomics.load(cells, turnCells.collecting) !== 0
    if (running === 0 || progress !== lastProgress) silence = 0
    else if (!isCollecting) silence += 1
    lastProgress = progress
    if (silence < limits.hangBeats) return
    stop()
    hung(running)
  }

  function isIdle(): boolean {
    const before = seenProgress
    seenProgress = Atomics.load(cells, turnCells.progress)
    const isAtRest = Atomics.load(cells, turnCells.running) === 0 && seenProgress === before
    return isAtRest && Atomics.load(cells, turnCells.short) === 0
  }

  /** Whether it has. */
  function pause(): boolean {
    Atomics.store(cells, turnCells.paused, 1)
    // Somebody who has got a turn just now may have looked before.
    if (Atomics.load(cells, turnCells.running) !== 0) {
      Atomics.store(cells, turnCells.paused, 0)
      return false
    }
    stop()
    pausedAt = last.elapsed
    return true
  }

  function start(): void {
    if (ticking !== undefined) return
    Atomics.store(cells, turnCells.paused, 0)
    lastProgress = Atomics.load(cells, turnCells.progress)
    seenProgress = lastProgress
    silence = 0
    idle = 0
    ticks = 0
    last = times()
    if (pausedAt !== undefined)
      Atomics.add(cells, turnCells.skipped, (last.elapsed - pausedAt) / limits.beatInterval)
    ticking = every(clock, limits.beatInterval, tick)
  }

  function stop(): void {
    ticking?.cancel()
    ticking = undefined
  }

  const shown = (cell: 'running' | 'last' | 'largest' | 'evicted'): number | undefined =>
    Atomics.load(cells, turnCells[cell]) || undefined

  return {
    rules: {
      cells: buffer,
      stretchBeats: limits.stretchBeats,
      loadBeats: limits.loadBeats,
      windowBeats: limits.windowBeats,
      windowShare: limits.windowShare,
      heapBytes: limits.sharedHeapMegabytes * megabyte * limits.sharedMemoryShare,
      outsideBytes: limits.sharedStringMegabytes * megabyte * limits.sharedMemoryShare,
      sparedBytes: limits.sparedGrowthMegabytes * megabyte,
    },
    culprit(kind) {
      const running = shown('running')
      if (kind === 'other') return running ?? shown('last')
      // Who runs has not filled the machine.
      if (kind === 'machine memory') return shown('evicted') ?? shown('largest') ?? running ?? shown('last')
      // While one that keeps too much is on its way out there is no room for anybody. Else what did not fit was asked for by
      // the one that ran, and between two turns it is the one that kept most.
      return shown('evicted') ?? running ?? shown('largest') ?? shown('last')
    },
    largestGrown: () => Atomics.load(cells, turnCells.largestGrown) * 1024,
    evictLargest() {
      Atomics.store(cells, turnCells.short, shortBeats)
      // It is over after so many beats, also where nobody has a turn until then.
      if (Atomics.load(cells, turnCells.paused) !== 0) start()
    },
    start,
    stop,
  }
}
