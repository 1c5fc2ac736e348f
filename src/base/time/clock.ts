/** A scheduled call that can be taken back. Cancelling one that has run does nothing. */
export interface ScheduledCall {
  cancel(): void
}

/** The only source of time in the host; tests put a clock of their own in its place. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
  /** Milliseconds that never go backwards, whatever is done to the system time. */
  monotonic(): number
  /** Milliseconds of processor time that this process has taken. */
  processorTime(): number
  /** Calls `callback` once, after at least `milliseconds`. */
  schedule(milliseconds: number, callback: () => void): ScheduledCall
}

/** Longest delay a Node timer takes; a longer one would fire at once. */
const longestTimerDelay = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  processorTime() {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1_000
  },
  schedule(milliseconds, callback) {
    let timer: NodeJS.Timeout
    const arm = (remaining: number): void => {
      const delay = Math.min(remaining, longestTimerDelay)
      timer = setTimeout(() => {
        if (remaining > delay) arm(remaining - delay)
        else callback()
      }, delay)
    }
    arm(Math.max(0, milliseconds))
    return { cancel: () => clearTimeout(timer) }
  },
}

/** A call that comes so many milliseconds late tells that this process stood still. */
export const standstill = 1_000

/**
 * Calls `callback` after so many milliseconds of waiting for somebody else. A process that was paused meanwhile has not seen what came:
 * it looks, and waits once more.
 */
export function scheduleDeadline(clock: Clock, milliseconds: number, callback: () => void): ScheduledCall {
  let next = wait(true)
  function wait(isFirst: boolean): ScheduledCall {
    const due = clock.monotonic() + milliseconds
    return clock.schedule(milliseconds, () => {
      // Once: where the process is always late, an end must come all the same.
      if (isFirst && clock.monotonic() >= due + standstill) next = wait(false)
      else callback()
    })
  }
  return { cancel: () => next.cancel() }
}

/** The same for who looks at the time again and again: answers how many milliseconds are left, none or less at the end. */
export function createTimeLeft(clock: Pick<Clock, 'monotonic'>, milliseconds: number): () => number {
  let due = clock.monotonic() + milliseconds
  let isFirst = true
  return () => {
    const left = due - clock.monotonic()
    if (!isFirst || left > -standstill) return left
    isFirst = false
    due += milliseconds - left
    return milliseconds
  }
}

/** Rejects with the error that `late` makes when `promise` has not settled after `milliseconds`, but for a standstill of this process. */
export function withDeadline<T>(
  clock: Clock,
  milliseconds: number,
  promise: Promise<T>,
  late: () => Error,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const deadline = scheduleDeadline(clock, milliseconds, () => reject(late()))
    promise.then(resolve, reject).finally(() => deadline.cancel())
  })
}
