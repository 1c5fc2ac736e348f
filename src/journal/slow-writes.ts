import type { Clock } from '../base/time/clock.ts'
import type { Logger } from '../base/log/log.ts'

/** Milliseconds after which it is told that a write takes long: a disk that was asleep is awake by then. */
export const slowWriteTime = 15_000

/** Says so when the disk keeps everybody waiting: it refuses nothing, so nobody else would. */
export interface SlowWrites {
  /** What is waited for, and why; undefined: nothing for long. */
  readonly reason: string | undefined
  watch(write: Promise<unknown>): void
}

export function createSlowWrites(parts: { clock: Clock; logger: Logger; path: string }): SlowWrites {
  const { clock, logger, path } = parts
  let reason: string | undefined
  return {
    get reason() {
      return reason
    },
    watch(write) {
      const begun = clock.monotonic()
      const late = clock.schedule(slowWriteTime, () => {
        reason = `the disk has not taken a write to the journal for ${slowWriteTime / 1000} s; commands wait for it`
        logger.warn('The disk does not take a write to the journal; commands wait for it', { path })
      })
      const settle = (): void => {
        late.cancel()
        if (reason === undefined) return
        reason = undefined
        const seconds = Math.round((clock.monotonic() - begun) / 1000)
        logger.info('The disk has answered a write to the journal', { path, seconds })
      }
      write.then(settle, settle)
    },
  }
}
