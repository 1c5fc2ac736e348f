import type { Clock } from './clock.ts'
import { createElapsedClock, type ElapsedClock } from './elapsed-clock.ts'

/** When something began. */
export interface StartTime {
  /** Milliseconds since the epoch, by the time of day as it is known now: where the clock was set since, it moves along. */
  at(): number
}

/** Milliseconds by which the time of day may come away from elapsed time before the clock counts as set: they are read apart. */
const tolerance = 5_000

/** It begins now. */
export function createStartTime(
  clock: Pick<Clock, 'now'>,
  elapsed: ElapsedClock = createElapsedClock(),
): StartTime {
  const begun = elapsed.elapsed()
  let at = clock.now()
  return {
    at() {
      const found = clock.now() - (elapsed.elapsed() - begun)
      if (Math.abs(found - at) > tolerance) at = found
      return at
    },
  }
}
