import type { Clock, ScheduledCall } from '../base/time/clock.ts'
import type { BusMessage } from '../bus/bus.ts'

/** Milliseconds until all is said once more: anybody may say that Home Assistant has started, without end. */
const birthPause = 5_000

/** Home Assistant says on `<prefix>/status` when it has started, and knows nothing then. */
export interface Births {
  /** Takes what is said there. */
  take(message: Pick<BusMessage, 'payload' | 'retained'>): void
  close(): void
}

/** `tell`: says all that it has to know. */
export function createBirths(clock: Pick<Clock, 'schedule'>, tell: () => void): Births {
  let pause: ScheduledCall | undefined
  let bornInPause = false
  let closed = false

  function onBirth(): void {
    bornInPause = pause !== undefined
    if (bornInPause) return
    tell()
    pause = clock.schedule(birthPause, () => {
      pause = undefined
      if (bornInPause) onBirth()
    })
  }

  return {
    take({ payload, retained }) {
      // A retained birth message is old news.
      if (!closed && !retained && Buffer.from(payload).toString().trim() === 'online') onBirth()
    },
    close() {
      closed = true
      pause?.cancel()
    },
  }
}
