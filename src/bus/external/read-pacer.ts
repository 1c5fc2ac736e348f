import type { Clock } from '../../base/time/clock.ts'

/** Milliseconds of a broker's messages at a stretch; then everybody else has a turn. */
const sliceLimit = 5

/**
 * Takes the next message of a broker by calling `goOn`: at once while there is time in the turn of the event loop, else in the next one, and none while
 * too many wait for those who have subscribed. What is not read waits at the broker, which lets go of what is too much.
 */
export type ReadPacer = (goOn: () => void) => void

/** `congested`: resolves when few messages wait; undefined when that is so now. */
export function createReadPacer(
  { monotonic }: Pick<Clock, 'monotonic'>,
  congested: () => Promise<void> | undefined,
): ReadPacer {
  /** Monotonic time at which the slice of this turn is over. */
  let end: number | undefined

  function endTurn(): void {
    end = undefined
  }

  return (goOn) => {
    if (end === undefined) {
      end = monotonic() + sliceLimit
      setImmediate(endTurn)
    }
    const caughtUp = congested()
    if (caughtUp !== undefined) void caughtUp.then(() => setImmediate(goOn))
    else if (monotonic() >= end) setImmediate(goOn)
    else goOn()
  }
}
