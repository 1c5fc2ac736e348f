import { type Clock, scheduleDeadline } from '../base/time/clock.ts'
import type { Lifecycle } from '../lifecycle/lifecycle.ts'

/**
 * Milliseconds without a fact after which a stop counts as stuck. A plugin has 5 s for its end, and whoever hangs then is ended:
 * what takes longer is a disk, or a fault of ours.
 */
const stuckAfter = 60_000
/** Milliseconds from which on no fact puts that off: in a fleet those of other hosts come, too. */
const longestStop = 600_000

/** Calls `stuck`, once, when a stop that begins now gets stuck. It ends with the process. `lifecycle`: absent while the host starts. */
export function watchStop(
  clock: Clock,
  lifecycle: Pick<Lifecycle, 'subscribe'> | undefined,
  stuck: () => void,
): void {
  const begun = clock.monotonic()
  let deadline = scheduleDeadline(clock, stuckAfter, stuck)
  lifecycle?.subscribe(({ kind }) => {
    if (kind !== 'lifecycle' || clock.monotonic() - begun >= longestStop) return
    deadline.cancel()
    deadline = scheduleDeadline(clock, stuckAfter, stuck)
  })
}
