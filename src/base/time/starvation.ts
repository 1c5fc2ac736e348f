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
