import { isDeepStrictEqual } from 'node:util'
import { decide, requireInstalled, requireRevision } from '../../journal/fold/decide.ts'
import { isInstalled } from '../../journal/fold/evolve.ts'
import type { SnapshotWriter } from '../../journal/snapshot/snapshot-writer.ts'
import type { Placement } from '../../schema/plugin/fleet-host.ts'
import type { Plugin } from '../../schema/plugin/plugin.ts'
import { type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import type { CommandContext } from '../lifecycle.ts'
import type { PluginQueries } from '../queries/plugin-queries.ts'
import type { Reconciler } from '../supervision/reconciler.ts'
import { type CommandRunner, isOutcomeOfLoad } from './command-runner.ts'

/**
 * Replaces where a plugin may run. Nothing of it changes here: whoever has it goes by what is written down. A load that only waits
 * for a repository is not waited for; the reconciler begins it anew where the plugin stays here.
 */
export function createPlacementCommand(
  context: LifecycleContext,
  parts: Pick<PluginQueries, 'get'> &
    Pick<CommandRunner, 'requireRunning'> & {
      snapshots: Pick<SnapshotWriter, 'flush'>
      reconciler: Pick<Reconciler, 'later'>
    },
): (id: string, placement: Placement, command: CommandContext) => Promise<Plugin> {
  const { journal, loads, mutex } = context
  return async (id, placement, { by, expectedRevision, requestKey }) => {
    const seen = snapshotOfPlugin(context, id)
    // One that is refused ends nothing.
    if (isInstalled(seen)) requireRevision(seen, expectedRevision)
    const takeTurn = loads.hold(id, `placement (${by})`, 'fetch of a load')
    const outcome = await mutex.run(id, async () => {
      const hasEnded = takeTurn()
      try {
        parts.requireRunning()
        const snapshot = snapshotOfPlugin(context, id)
        requireInstalled(snapshot)
        if (!(hasEnded && isOutcomeOfLoad(seen, snapshot))) requireRevision(snapshot, expectedRevision)
        if (!isDeepStrictEqual(snapshot.context.placement ?? {}, placement))
          await journal.append(decide(snapshot, { type: 'place', placement }), by, requestKey)
        return parts.get(id)
      } finally {
        if (hasEnded) parts.reconciler.later(id)
      }
    })
    await parts.snapshots.flush()
    return outcome
  }
}
