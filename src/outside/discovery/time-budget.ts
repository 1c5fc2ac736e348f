import type { Clock } from '../../base/time/clock.ts'

/** A share of the processor's time, for what strangers cause. */
export interface TimeBudget {
  /** Does it and counts how long that takes; false: the time is used up for now, and nothing was done. */
  spend(work: () => void): boolean
}

/** `share` of the time in the long run, 0 to 1, and `burst` ms of it at once after a rest. */
export function createTimeBudget(clock: Clock, share: number, burst: number): TimeBudget {
  let left = burst
  let at = clock.monotonic()
  return {
    spend(work) {
      const before = clock.monotonic()
      left = Math.min(burst, left + share * (before - at))
      at = before
      if (left <= 0) return false
      work()
      left -= clock.monotonic() - before
      return true
    },
  }
}
