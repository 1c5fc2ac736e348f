import { readFileSync } from 'node:fs'
import type { Logger } from '../base/log/log.ts'
import { createWallClock } from '../lifecycle/triggers/wall-clock.ts'

/** UTC itself, and what has its time all year, as the C library writes it; or no zone at all. */
const isUtc = /^(utc|gmt|uct|<[+-]00>)?[+-]?0*$/i
/** One in winter and one in summer. */
const instants = [Date.UTC(2026, 0, 1), Date.UTC(2026, 6, 1)]

/**
 * Node goes by UTC, without a word, where it does not know the zone: of a `TZ` with a mistake in it, or as it is written for the
 * C library (`CET-1CEST,M3.5.0,M10.5.0/3`), which boxes have from their makers; and of a `/etc/localtime` that is mounted into a
 * container, as Node looks at where the link leads, and not at what is there.
 */
export function warnOfUnknownTimeZone(
  { TZ }: Readonly<Record<string, string | undefined>>,
  logger: Logger,
  localTime = '/etc/localtime',
): void {
  if (instants.some((instant) => new Date(instant).getTimezoneOffset() !== 0)) return
  if (TZ === undefined) {
    const zone = zoneIn(localTime)
    if (isUtc.test(zone)) return
    logger.warn(
      `Of the time zone of ${localTime} only the rule is known here: schedules and os.date go by UTC until TZ names it, as Europe/Berlin`,
      { zone },
    )
  } else if (!isUtcByName(TZ.replace(/^:/, ''))) {
    logger.warn('TZ names no time zone, as Europe/Berlin does: schedules and os.date go by UTC', { TZ })
  }
}

function isUtcByName(name: string): boolean {
  if (isUtc.test(name)) return true
  try {
    const clock = createWallClock(name)
    return instants.every((instant) => clock.at(instant) === instant)
  } catch {
    return false
  }
}

/** The rule at the end of a file of zones (RFC 9636); empty: there is none. */
function zoneIn(path: string): string {
  try {
    const [, zone = ''] = /\n([!-~]+)\n$/.exec(readFileSync(path, 'latin1')) ?? []
    return zone
  } catch {
    return ''
  }
}
