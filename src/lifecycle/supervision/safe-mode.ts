import type { SafeModeReason } from '../../schema/journal/journal-event.ts'

/** Whether the host loads any plugin at all. Pure. */

/** Starts in a row that did not reach ready, after which the next one loads nothing: two may be chance. */
const unfinishedStartsLimit = 3

/**
 * Why this start is a safe one; undefined: an ordinary start. `unfinishedStarts`: starts in a row before this one
 * that did not reach ready, apart from those that somebody ended.
 */
export function decideSafeMode(
  asked: boolean,
  unfinishedStarts: number,
  limit = unfinishedStartsLimit,
): SafeModeReason | undefined {
  if (asked) return 'asked'
  return unfinishedStarts >= limit ? 'unfinishedStarts' : undefined
}

/** For people. */
export function describeSafeMode(reason: SafeModeReason, unfinishedStarts: number): string {
  return reason === 'asked'
    ? 'The host was started with --safe.'
    : `The last ${unfinishedStarts} starts did not get as far as ready.`
}
