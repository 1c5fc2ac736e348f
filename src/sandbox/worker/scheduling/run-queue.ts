import type { Clock, ScheduledCall } from '../../../base/time/clock.ts'

/** An isolate that has something to do. */
export interface Runner {
  /** Goes on until the slice is over or nothing is left. Answers whether it can go on at once. */
  runSlice(): boolean
  /** The host waits for its end: it has every other slice. */
  readonly isEnding: boolean
}

/**
 * Who runs in a worker: one isolate after the other, each a slice at a time, and between two slices the event loop
 * turns, so that messages, timers and heartbeats have their turn. One that could not be set aside, and has kept the
 * worker for longer than its slice while others wanted it, rests for as long, for each of them, before it goes on.
 */
export interface RunQueue {
  /** It has something to do: at once, if nobody waits for a slice, or in its turn. */
  run(runner: Runner): void
  /** The same, in its turn. One that is in the queue already keeps its place. */
  add(runner: Runner): void
  remove(runner: Runner): void
  /** Whether the present slice is over. */
  sliceIsOver(): boolean
  /**
   * Gives the next one its slice, and one that rests if nobody else waits; false when nobody has anything to do. For who
   * waits, and keeps the event loop.
   */
  runOne(): boolean
}

/** How long one does not go on that has kept the worker. */
interface Rest {
  /** On the monotonic clock. */
  until: number
  /** Milliseconds without a slice of anybody after which it is over: nobody wants the worker. */
  quiet: number
}

/** Milliseconds in which each of those that wait has had a slice, if it lets go in time. */
const roundLimit = 8
/** Milliseconds of one slice: the shorter the more isolates wait. */
const shortestSlice = 1
const longestSlice = 4
/** Milliseconds beyond its slice that cost nobody a rest: the collection of garbage comes upon whoever runs. */
const toleratedOverrun = 8
/** Milliseconds: who has kept the worker for much longer than that again and again is moved, and a rest does not hide it. */
const longestRest = 50
/** Of what it has taken: a rest costs no more than that where others want the worker no longer. */
const quietShare = 0.25

export function createRunQueue({ monotonic, schedule: scheduleCall }: Clock): RunQueue {
  const waiting = new Set<Runner>()
  const rests = new Map<Runner, Rest>()
  let scheduled: NodeJS.Immediate | undefined
  let restEnd: ScheduledCall | undefined
  let end = 0
  let lastWasEnding = false
  /** Who has had the last slice. */
  let last: Runner | undefined
  /** Slices so far: one within which there were others has not had all of its time for itself. */
  let slices = 0
  /** When the last slice ended, while somebody rests, and when all have rested. */
  let quietSince = 0
  let allRested = 0

  /** Gives it a slice. Answers whether it can go on at once. */
  function give(runner: Runner): boolean {
    const outer = end
    const begun = monotonic()
    const due = begun + Math.min(longestSlice, Math.max(shortestSlice, roundLimit / (waiting.size + 1)))
    const number = (slices += 1)
    end = due
    const others = last !== undefined && last !== runner
    last = runner
    try {
      return runner.runSlice()
    } finally {
      end = outer
      // Who has had others served within its slice did not keep the worker from them; and who has gone in it does not come back.
      const isWanted = (others || waiting.size > 0) && slices === number && last === runner
      // One that has the worker to itself is spared the look at the clock.
      if (isWanted || rests.size > 0) afterSlice(runner, isWanted, due)
    }
  }

  function afterSlice(runner: Runner, isWanted: boolean, due: number): void {
    quietSince = monotonic()
    if (quietSince > allRested) rests.clear()
    const overrun = quietSince - due
    if (!isWanted || runner.isEnding || overrun <= toleratedOverrun) return
    const until = quietSince + Math.min(longestRest, overrun * Math.max(1, waiting.size))
    rests.set(runner, { until, quiet: overrun * quietShare })
    allRested = Math.max(allRested, until)
  }

  /** Milliseconds for which it still rests. */
  function restOf(runner: Runner, now: number): number {
    const found = rests.get(runner)
    if (found === undefined || runner.isEnding) return 0
    const left = Math.min(found.until, quietSince + found.quiet) - now
    if (left > 0) return left
    rests.delete(runner)
    return 0
  }

  function next(): Runner | undefined {
    const ending = lastWasEnding ? undefined : firstEnding()
    lastWasEnding = ending !== undefined
    return ending ?? (rests.size === 0 ? waiting.values().next().value : firstRested())
  }

  function firstEnding(): Runner | undefined {
    for (const runner of waiting) if (runner.isEnding) return runner
    return undefined
  }

  function firstRested(): Runner | undefined {
    const now = monotonic()
    for (const runner of waiting) if (restOf(runner, now) === 0) return runner
    return undefined
  }

  function take(runner: Runner | undefined): boolean {
    if (runner === undefined) return false
    waiting.delete(runner)
    if (give(runner)) waiting.add(runner)
    return true
  }

  function work(): void {
    scheduled = undefined
    if (!take(next()) && waiting.size > 0) waitForRested()
    else if (waiting.size > 0) schedule()
  }

  function schedule(): void {
    scheduled ??= setImmediate(work)
  }

  /** All that wait have to rest. */
  function waitForRested(): void {
    const now = monotonic()
    const milliseconds = Math.min(...Array.from(waiting, (runner) => restOf(runner, now)))
    restEnd?.cancel()
    restEnd = scheduleCall(milliseconds, () => {
      restEnd = undefined
      schedule()
    })
  }

  function add(runner: Runner): void {
    waiting.add(runner)
    schedule()
  }

  return {
    run(runner) {
      if (waiting.size > 0 || (rests.size > 0 && restOf(runner, monotonic()) > 0) || give(runner)) add(runner)
    },
    add,
    remove(runner) {
      waiting.delete(runner)
      rests.delete(runner)
      // All of its memory hangs on it.
      if (last === runner) last = undefined
      if (waiting.size === 0) restEnd?.cancel()
    },
    sliceIsOver: () => monotonic() >= end,
    runOne: () => take(next() ?? waiting.values().next().value),
  }
}
