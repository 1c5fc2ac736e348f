import type { Clock, ScheduledCall } from './clock.ts'

/** Calls back so many milliseconds from now, and from then on after each such time, until it is cancelled. */
export function every(
  clock: Pick<Clock, 'schedule'>,
  milliseconds: number,
  callback: () => void,
): ScheduledCall {
  let next = clock.schedule(milliseconds, again)
  function again(): void {
    // Before the call, which may cancel it.
    next = clock.schedule(milliseconds, again)
    callback()
  }
  return { cancel: () => next.cancel() }
}
