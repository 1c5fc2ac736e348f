import type { Clock } from '../../../base/time/clock.ts'
import type { Logger } from '../../../base/log/log.ts'
import type { FleetJournal } from '../../../fleet/journal/fleet-journal.ts'
import { logFailure } from '../log-failure.ts'

/** Milliseconds that putting the files of an installation in place takes, at most. */
const longestInstallation = 60_000

/**
 * Looks again at installations whose host has died on the way, and ends those that have taken too long: nobody else would say
 * that nothing came of them.
 */
export function createInterruptedInstallations(
  clock: Clock,
  logger: Logger,
): (journal: FleetJournal) => void {
  /** Since when an installation is under way, on the monotonic clock. */
  const installing = new Map<string, number>()
  const failed = logFailure(logger, 'The end of an installation could not be written down')

  function end(journal: FleetJournal, plugin: string): void {
    const message =
      'The host that installed it ended while the files were being put in place; install it again.'
    const error = { code: 'internal', message, at: new Date(clock.now()).toISOString() }
    journal
      .decide(
        plugin,
        ({ plugins }) =>
          plugins.get(plugin)?.value === 'installing'
            ? [{ type: 'PluginInstallFailed', plugin, data: { error } }]
            : [],
        'supervisor',
      )
      .catch(failed)
  }

  return (journal) => {
    const now = clock.monotonic()
    for (const [plugin, snapshot] of journal.state.plugins) {
      if (snapshot.value !== 'installing') {
        installing.delete(plugin)
        continue
      }
      const since = installing.get(plugin) ?? now
      installing.set(plugin, since)
      if (now - since < longestInstallation) continue
      installing.set(plugin, now)
      end(journal, plugin)
    }
  }
}
