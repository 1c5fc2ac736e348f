import type { Clock } from '../base/clock.ts'

/** Milliseconds at a stretch for what one plugin asks; then others have their turn, for as long as that took. */
const sliceLimit = 5
/** Milliseconds; a timer for less would wait longer than that. */
const shortestDelay = 1

/** Does one step of a task; true when that was the last one. */
export type Task = () => boolean

/**
 * What one isolate has said, worked off in order and in slices: a batch that is dear for the host, say because two
 * hundred subscribers get each of its messages, must not keep it from everything else until it is done.
 */
export interface Intake {
  add(task: Task): void
  /** Resolves when all of it has been worked off. */
  idle(): Promise<void>
}

export function createIntake(clock: Clock): Intake {
  let tasks: Task[] = []
  /** The next slice is on its way. */
  let due = false
  let restUntil = Number.NEGATIVE_INFINITY
  let working = false
  const waiting: (() => void)[] = []

  function work(end: number): void {
    working = true
    let done = 0
    try {
      for (let task = tasks[done]; task !== undefined; task = tasks[done]) {
        while (!task()) {
          if (clock.monotonic() >= end) return
        }
        done += 1
        if (clock.monotonic() >= end) return
      }
    } finally {
      tasks = tasks.slice(done)
      working = false
      if (tasks.length === 0) for (const resolve of waiting.splice(0)) resolve()
    }
  }

  function slice(): void {
    due = false
    const begun = clock.monotonic()
    work(begun + sliceLimit)
    const now = clock.monotonic()
    // What others want takes several rounds of the event loop, and each would be as long as a slice otherwise.
    restUntil = now + (now - begun)
    if (tasks.length > 0) sliceLater(restUntil - now)
  }

  function sliceLater(milliseconds: number): void {
    if (due) return
    due = true
    if (milliseconds < shortestDelay) setImmediate(slice)
    else clock.schedule(milliseconds, slice)
  }

  return {
    add(task) {
      tasks.push(task)
      if (working || due) return
      const rest = restUntil - clock.monotonic()
      if (rest < shortestDelay) slice()
      else sliceLater(rest)
    },
    idle() {
      if (tasks.length === 0) return Promise.resolve()
      return new Promise((resolve) => waiting.push(resolve))
    },
  }
}
