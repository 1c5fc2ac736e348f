import type { Clock } from './clock.ts'
import { every } from './every.ts'

/**
 * Whether this process stood still meanwhile: as the container is paused or the virtual machine copied that it runs in, or by a
 * signal. Its clocks go on then, and what was given time had none.
 */
export interface Standstill {
  /** Milliseconds so far. */
  stoodStill(): number
  end(): void
}

/** Milliseconds from one look to the next, and by which one may be late because there are other things to do. */
const lookEvery = 1_000
const busy = 5_000

/** Looks from now on, until it is ended. */
export function watchForStandstill(clock: Pick<Clock, 'monotonic' | 'schedule'>): Standstill {
  let looked = clock.monotonic()
  let total = 0

  function look(): void {
    const now = clock.monotonic()
    const late = now - looked - lookEvery
    if (late > busy) total += late
    looked = now
  }

  const looking = every(clock, lookEvery, look)
  return {
    stoodStill() {
      look()
      return total
    },
    end: () => looking.cancel(),
  }
}
