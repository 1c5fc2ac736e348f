import type { Clock } from './clock.ts'
import { createElapsedTime, type ElapsedTime } from './elapsed-time.ts'

/** Milliseconds by which the time of day may come away from elapsed time before the clock counts as set: they are read apart. */
const tolerance = 5_000

/**
 * Answers when something began that begins now: milliseconds since the epoch, by the time of day as it is known when that is
 * asked. Where the clock was set since, it moves along.
 */
export function createStartTime(
  clock: Pick<Clock, 'now'>,
  elapsed: ElapsedTime = createElapsedTime(),
): () => number {
  const begun = elapsed()
  let at = clock.now()
  return () => {
    const found = clock.now() - (elapsed() - begun)
    if (Math.abs(found - at) > tolerance) at = found
    return at
  }
}
