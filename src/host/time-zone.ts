import type { Logger } from '../base/log/log.ts'
import { createWallClock } from '../lifecycle/triggers/wall-clock.ts'

/** No zone, or UTC itself, which needs no table of zones. */
const isUtc = /^(utc|gmt|uct)?[+-]?0*$/i
/** One in winter and one in summer. */
const instants = [Date.UTC(2026, 0, 1), Date.UTC(2026, 6, 1)]

/**
 * Node goes by UTC, without a word, where it does not know the zone of `TZ`: a name with a mistake in it, or one as it is
 * written for the C library (`CET-1CEST,M3.5.0,M10.5.0/3`), which boxes have from their makers.
 */
export function warnOfUnknownTimeZone(
  { TZ = '' }: Readonly<Record<string, string | undefined>>,
  logger: Logger,
): void {
  if (isUnderstood(TZ.replace(/^:/, ''))) return
  logger.warn('TZ names no time zone, as Europe/Berlin does: schedules and os.date go by UTC', { TZ })
}

function isUnderstood(name: string): boolean {
  if (isUtc.test(name) || instants.some((instant) => new Date(instant).getTimezoneOffset() !== 0)) return true
  try {
    // There are some that have the time of UTC all year.
    const clock = createWallClock(name)
    return instants.every((instant) => clock.at(instant) === instant)
  } catch {
    return false
  }
}
