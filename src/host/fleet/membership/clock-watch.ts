import type { Clock } from '../../../base/time/clock.ts'
import { every } from '../../../base/time/every.ts'
import type { Logger } from '../../../base/log/log.ts'

export interface ClockWatchSettings {
  clock: Clock
  logger: Logger
  /** Other hosts that live. */
  others: () => readonly string[]
  /** What time it is there, in milliseconds since the epoch. */
  askTime: (host: string) => Promise<unknown>
}

/** Milliseconds by which clocks may differ, and between two looks. */
const tolerance = 30_000
const lookEvery = 60_000

/**
 * Tells in the log when the time of another host is not that of this one. Nothing of the fleet goes by it, but schedules do,
 * and whoever reads the history. Returns the way to stop.
 */
export function watchClocks({ clock, logger, others, askTime }: ClockWatchSettings): () => void {
  const told = new Set<string>()

  async function look(host: string): Promise<void> {
    const asked = clock.now()
    const time = await askTime(host)
    if (typeof time !== 'number') return
    const now = clock.now()
    // This machine may have slept meanwhile.
    const isOff = time < asked - tolerance || time > now + tolerance
    if (isOff === told.has(host)) return
    if (isOff) told.add(host)
    else told.delete(host)
    if (!isOff) logger.info('The clock of another host of the fleet is that of this one again', { host })
    else
      logger.warn(
        'The clock of another host of the fleet is not that of this one: schedules of plugins run at other times there, and ' +
          'what it writes into the history has the times of its clock; let all hosts take the time from a server (NTP)',
        { host, secondsAhead: Math.round((time - now) / 1_000) },
      )
  }

  const timer = every(clock, lookEvery, () => {
    // One that does not answer, or is of an older version, tells no time.
    for (const host of others()) look(host).catch(() => undefined)
  })
  return () => timer.cancel()
}
