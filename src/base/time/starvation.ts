import type { Clock } from './clock.ts'
import { every } from './every.ts'

/** Share of a time for which there was a processor, 0 to 1, from which on nothing was wanting. */
const enough = 0.8
/** What counts of a time in any case: whoever does nothing but wait for something else has no processor either. */
const least = 0.2

/**
 * How many of `elapsed` milliseconds count for who had a processor for `had` of them: as many as that, where others on the machine,
 * or a quota, had the processors. So nobody pays for what the machine does, and what never ends is stopped five times later at most.
 * `longest`: what is beyond is a standstill, of which in any case nothing counts.
 */
export function countedTime(elapsed: number, had: number, longest = elapsed): number {
  return had >= elapsed * enough ? elapsed : Math.max(had, Math.min(elapsed, longest) * least)
}

/** Milliseconds for which there was a processor since the last call, or since it was made. */
export type ProcessorTimeMeter = () => number

/**
 * Meters one thread: as many milliseconds as the process had, at most, and but for the time in which others had the processors and this thread waited, as its
 * neighbours in the process may be those others. `waited`: for how long it has in all, in milliseconds; 0 where the system does not say.
 * What it had waited before counts in the first answer.
 */
export function createProcessorTimeMeter(
  { monotonic, processorTime }: Pick<Clock, 'monotonic' | 'processorTime'>,
  waited: () => number,
): ProcessorTimeMeter {
  // How long a thread has waited is in a file, and each start of a worker would pay for reading it: it has hardly waited when it starts.
  let last = { ofProcess: processorTime(), notWaiting: monotonic() }
  return () => {
    const before = last
    last = { ofProcess: processorTime(), notWaiting: monotonic() - waited() }
    return Math.min(last.ofProcess - before.ofProcess, last.notWaiting - before.notWaiting)
  }
}

/** Milliseconds between two readings of the processor time. */
const readInterval = 1_000

/**
 * As `withDeadline`, in milliseconds that count: for what works in this process, and has no time while the machine is paused or
 * has other things to do. It may come up to a second later.
 */
export function withCountedDeadline<T>(
  clock: Clock,
  milliseconds: number,
  promise: Promise<T>,
  late: () => Error,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    let left = milliseconds
    let at = clock.monotonic()
    let had = clock.processorTime()
    const readings = every(clock, Math.min(milliseconds, readInterval), () => {
      const last = { at, had }
      at = clock.monotonic()
      had = clock.processorTime()
      left -= countedTime(at - last.at, had - last.had, readInterval)
      if (left > 0) return
      readings.cancel()
      reject(late())
    })
    promise.then(resolve, reject).finally(() => readings.cancel())
  })
}
