import type { Clock } from '../../base/time/clock.ts'

/**
 * A share of the processor's time, for what strangers cause: `share` of it in the long run, 0 to 1, and `burst` ms at once after
 * a rest. What is answered does some work and counts how long that takes; false: the time is used up for now, and nothing was
 * done.
 */
export function createTimeBudget(clock: Clock, share: number, burst: number): (work: () => void) => boolean {
  let left = burst
  let at = clock.monotonic()
  return (work) => {
    const before = clock.monotonic()
    left = Math.min(burst, left + share * (before - at))
    at = before
    if (left <= 0) return false
    work()
    left -= clock.monotonic() - before
    return true
  }
}
