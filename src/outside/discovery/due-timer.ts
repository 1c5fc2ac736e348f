import { type Clock, type ScheduledCall, standstill } from '../../base/time/clock.ts'

/** Milliseconds until it comes at least: what is due at almost the same time is done at once. */
const leastPause = 20

/**
 * One call for all that is due some time: it comes when the first of it is. Answers what sets it; `at` and `now`: ms of the
 * monotonic clock, Infinity: nothing is due. `stoodStill`: this process was paused meanwhile, and has not heard what was said.
 */
export function createDueTimer(
  clock: Clock,
  due: (now: number, stoodStill: boolean) => void,
): (at: number, now: number) => void {
  let timer: { at: number; call: ScheduledCall } | undefined
  return (at, now) => {
    if (timer?.at === at) return
    timer?.call.cancel()
    timer = undefined
    if (at === Number.POSITIVE_INFINITY) return
    const wait = Math.max(leastPause, at - now)
    const late = clock.monotonic() + wait + standstill
    const call = clock.schedule(wait, () => {
      timer = undefined
      const then = clock.monotonic()
      due(then, then >= late)
    })
    timer = { at, call }
  }
}
