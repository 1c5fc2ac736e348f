import { workerClock } from './worker-clock.ts'

/** Milliseconds between two readings of a getter that nobody announces with `notify`. */
const readInterval = 1_000
/** Nobody is read twice for the sake of a timer that was early. */
const tooSoon = 10
const begun = workerClock.monotonic()

/**
 * Milliseconds until getters are to be read the next time: for all plugins of this worker at once, as each time wakes it, and the machine.
 * Each worker has its own time for it. `spent`: milliseconds that this reading has taken; slow getters rest as long before the next, or else
 * they would be read all the time.
 */
export function untilReading(spent = 0): number {
  const left = readInterval - ((workerClock.monotonic() - begun) % readInterval)
  return left < Math.max(tooSoon, Math.min(spent, readInterval)) ? left + readInterval : left
}
