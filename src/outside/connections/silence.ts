import type { Clock, ScheduledCall } from '../../base/time/clock.ts'

/** A timer that is called so many milliseconds late tells that this thread was busy: what came meanwhile is still to be read. */
const busyFrom = 1
/** How often that is waited for: where the thread is always busy, an end must come all the same. */
const waitsLimit = 3

/** Tells when nothing has come for a while. What waits to be read has come: while nobody reads there is no silence. */
export interface Silence {
  /** Something has come. */
  broken(): void
  pause(): void
  resume(): void
  close(): void
}

/** `milliseconds`: how long; undefined: it is not told. */
export function createSilence(
  clock: Pick<Clock, 'schedule' | 'monotonic'>,
  milliseconds: number | undefined,
  told: () => void,
): Silence {
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
    broken() {
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
