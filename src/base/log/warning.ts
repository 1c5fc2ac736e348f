import type { Clock } from '../time/clock.ts'
import type { LogFields, Logger } from './log.ts'

/** Milliseconds between two warnings with the same words: a client can cause thousands in a second. */
const warningInterval = 10_000

/** Logs a warning at most once per interval; the next one says how many were left out. */
export function createWarner(logger: Logger, clock: Clock): (message: string, fields?: LogFields) => void {
  const seen = new Map<string, { at: number; suppressed: number }>()
  return (message, fields = {}) => {
    const last = seen.get(message)
    const now = clock.monotonic()
    if (last !== undefined && now - last.at < warningInterval) {
      last.suppressed += 1
      return
    }
    seen.set(message, { at: now, suppressed: 0 })
    const suppressed = last?.suppressed ?? 0
    logger.warn(message, suppressed === 0 ? fields : { ...fields, suppressed })
  }
}
