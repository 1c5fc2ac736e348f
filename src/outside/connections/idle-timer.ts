import type { Clock, ScheduledCall } from '../../base/time/clock.ts'

/** A timer that is called so many milliseconds late tells that this thread was busy: what came meanwhile is still to be read. */
const busyFrom = 1
/** How often that is waited for: where the thread is always busy, an end must come all the same. */
const waitsLimit = 3

/** Tells when nothing has come for a while. What waits to be read has come: while nobody reads, the time does not run. */
export interface IdleTimer {
  /** Something has come. */
  reset(): void
  pause(): void
  resume(): void
  close(): void
}

/** `milliseconds`: how long, until `told` is called; undefined: never. It begins to run with the first `reset`. */
export function createIdleTimer(
  clock: Pick<Clock, 'schedule' | 'monotonic'>,
  milliseconds: number | undefined,
  told: () => void,
): IdleTimer {
  let timer: ScheduledCall | undefined
  let isDue = false
  let isPaused = false

  function start(): void {
    timer?.cancel()
    // What has come last may be what it was paused for.
    if (milliseconds !== undefined && isDue && !isPaused) wait(milliseconds, waitsLimit)
  }

  function wait(forSoLong: number, waits: number): void {
    const due = clock.monotonic() + forSoLong
    timer = clock.schedule(forSoLong, () => {
      if (waits > 1 && clock.monotonic() >= due + busyFrom) wait(forSoLong, waits - 1)
      else {
        isDue = false
        told()
      }
    })
  }

  return {
    reset() {
      isDue = true
      start()
    },
    pause() {
      isPaused = true
      timer?.cancel()
    },
    resume() {
      isPaused = false
      start()
    },
    close: () => timer?.cancel(),
  }
}
