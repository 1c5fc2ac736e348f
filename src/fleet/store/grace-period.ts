import type { Clock } from '../../base/time/clock.ts'

/** Milliseconds after which a server that was cut off from the others knows it: then what is missing is gone. */
const behindLimit = 15_000

/**
 * What only one server may have missed is believed when it has been answered for that long. A host would end for ever by
 * what is true for seconds.
 */
export interface GracePeriod {
  /** The store answers with less than was seen there. Whether it has done so for long enough. */
  isOver(): boolean
  /** It has answered with all of it. */
  reset(): void
}

export function createGracePeriod(clock: Clock): GracePeriod {
  let since: number | undefined
  return {
    isOver() {
      since ??= clock.monotonic()
      return clock.monotonic() - since >= behindLimit
    },
    reset() {
      since = undefined
    },
  }
}
