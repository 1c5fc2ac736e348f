/** An isolate that has something to do. */
export interface Runner {
  /** Goes on until the slice is over or nothing is left. Answers whether it can go on at once. */
  runSlice(): boolean
  /** The host waits for its end: it has every other slice. */
  readonly isEnding: boolean
}

/**
 * Who runs in a worker: one isolate after the other, each a slice at a time, and between two slices the event loop
 * turns, so that messages, timers and heartbeats have their turn.
 */
export interface RunQueue {
  /** It has something to do. One that is in the queue already keeps its place. */
  add(runner: Runner): void
  remove(runner: Runner): void
  /** Nobody waits for a slice: what comes now can be done at once. */
  readonly isEmpty: boolean
  /** Runs `task` as a slice of its own. */
  slice<T>(task: () => T): T
  /** Whether the present slice is over. */
  sliceIsOver(): boolean
  /** Gives the next one its slice; false when nobody has anything to do. For who waits, and keeps the event loop. */
  runOne(): boolean
}

/** Milliseconds in which each of those that wait has had a slice, if it lets go in time. */
const roundLimit = 8
/** Milliseconds of one slice: the shorter the more isolates wait. */
const shortestSlice = 1
const longestSlice = 4

export function createRunQueue(monotonic: () => number): RunQueue {
  const waiting = new Set<Runner>()
  let scheduled: NodeJS.Immediate | undefined
  let end = 0
  let lastWasEnding = false

  function slice<T>(task: () => T): T {
    const outer = end
    const share = roundLimit / (waiting.size + 1)
    end = monotonic() + Math.min(longestSlice, Math.max(shortestSlice, share))
    try {
      return task()
    } finally {
      end = outer
    }
  }

  function next(): Runner | undefined {
    const ending = lastWasEnding ? undefined : firstEnding()
    lastWasEnding = ending !== undefined
    return ending ?? waiting.values().next().value
  }

  function firstEnding(): Runner | undefined {
    for (const runner of waiting) if (runner.isEnding) return runner
    return undefined
  }

  function runOne(): boolean {
    const runner = next()
    if (runner === undefined) return false
    waiting.delete(runner)
    if (slice(() => runner.runSlice())) waiting.add(runner)
    return true
  }

  function work(): void {
    scheduled = undefined
    runOne()
    if (waiting.size > 0) schedule()
  }

  function schedule(): void {
    scheduled ??= setImmediate(work)
  }

  return {
    add(runner) {
      waiting.add(runner)
      schedule()
    },
    remove: (runner) => void waiting.delete(runner),
    get isEmpty() {
      return waiting.size === 0
    },
    slice,
    sliceIsOver: () => monotonic() >= end,
    runOne,
  }
}
