import type { Clock } from '../../src/base/time/clock.ts'

/** A clock that stands still until it is told to go on. */
export interface ManualClock extends Clock {
  /** Moves the time on and makes the calls that are due, in their order. */
  advance(milliseconds: number): void
  /** Time in which the process stands still: what was due then is called late, with the next move. */
  pause(milliseconds: number): void
  /** Calls that wait. */
  readonly waiting: number
}

export function createManualClock(start = Date.parse('2026-01-01T00:00:00Z')): ManualClock {
  let time = start
  const calls = new Set<{ at: number; callback: () => void }>()
  return {
    now: () => time,
    monotonic: () => time - start,
    processorTime: () => time - start,
    schedule(milliseconds, callback) {
      const call = { at: time + Math.max(0, milliseconds), callback }
      calls.add(call)
      return { cancel: () => void calls.delete(call) }
    },
    advance(milliseconds) {
      const end = time + milliseconds
      for (;;) {
        const [next] = [...calls].filter(({ at }) => at <= end).sort((left, right) => left.at - right.at)
        if (next === undefined) break
        calls.delete(next)
        time = Math.max(time, next.at)
        next.callback()
      }
      // Some of the calls may have paused it.
      time = Math.max(time, end)
    },
    pause(milliseconds) {
      time += milliseconds
    },
    get waiting() {
      return calls.size
    },
  }
}
