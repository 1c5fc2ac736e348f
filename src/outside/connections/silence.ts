import type { Clock, ScheduledCall } from '../../base/time/clock.ts'

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
  { schedule }: Pick<Clock, 'schedule'>,
  milliseconds: number | undefined,
  told: () => void,
): Silence {
  let timer: ScheduledCall | undefined
  let isDue = false
  let isPaused = false

  function start(): void {
    timer?.cancel()
    // What has come last may be what it was paused for.
    if (milliseconds === undefined || !isDue || isPaused) return
    timer = schedule(milliseconds, () => {
      isDue = false
      told()
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
