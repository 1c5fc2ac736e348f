import { readFileSync } from 'node:fs'

/** Milliseconds since a thread began. */
export interface ThreadTimes {
  /** It has had a processor. */
  ran: number
  /** It was ready to run, and others had the processors. */
  waited: number
}

/**
 * As Linux counts them: the first two numbers in `schedstat` are in nanoseconds. Undefined: the system does not say. A
 * read takes some 15 µs.
 */
export function threadTimesOf(thread: number): ThreadTimes | undefined {
  try {
    const text = readFileSync(`/proc/self/task/${thread}/schedstat`, 'latin1')
    const [ran = Number.NaN, waited = Number.NaN] = text.split(' ').map((time) => Number(time) / 1e6)
    return Number.isFinite(ran) && Number.isFinite(waited) ? { ran, waited } : undefined
  } catch {
    return undefined
  }
}
