import { getOrInsert } from '../get-or-insert.ts'
import type { Clock } from '../time/clock.ts'
import type { LogFields, Logger } from './log.ts'

/** Milliseconds between two warnings with the same words: a client can cause thousands in a second. */
const warningInterval = 10_000
/** So many subjects of one warning are told of in that time; further ones are counted. */
export const subjectsLimit = 20

/** `subject`: what the warning is about, where each such thing deserves one of its own. */
export type Warner = (message: string, fields?: LogFields, subject?: string) => void

/** Logs a warning at most once per interval and subject; the next one with these words says how many were left out. */
export function createWarner(logger: Logger, clock: Clock): Warner {
  const seen = new Map<string, { told: Map<string, number>; suppressed: number }>()
  return (message, fields = {}, subject = '') => {
    const now = clock.monotonic()
    const last = getOrInsert(seen, message, () => ({ told: new Map<string, number>(), suppressed: 0 }))
    for (const [one, at] of last.told) if (now - at >= warningInterval) last.told.delete(one)
    if (last.told.has(subject) || last.told.size >= subjectsLimit) {
      last.suppressed += 1
      return
    }
    last.told.set(subject, now)
    const { suppressed } = last
    last.suppressed = 0
    logger.warn(message, suppressed === 0 ? fields : { ...fields, suppressed })
  }
}
