import { isDeepStrictEqual } from 'node:util'
import { decide, requireInstalled, requireRevision } from '../../journal/fold/decide.ts'
import type { SnapshotWriter } from '../../journal/snapshot/snapshot-writer.ts'
import type { Placement } from '../../schema/plugin/fleet-host.ts'
import type { Plugin } from '../../schema/plugin/plugin.ts'
import { type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import type { CommandContext } from '../lifecycle.ts'
import type { PluginQueries } from '../queries/plugin-queries.ts'
import type { CommandRunner } from './command-runner.ts'

/** Replaces where a plugin may run. Nothing of it changes here: whoever has it goes by what is written down. */
export function createPlacementCommand(
  context: LifecycleContext,
  parts: Pick<PluginQueries, 'get'> &
    Pick<CommandRunner, 'requireRunning'> & { snapshots: Pick<SnapshotWriter, 'flush'> },
): (id: string, placement: Placement, command: CommandContext) => Promise<Plugin> {
  const { journal, mutex } = context
  return async (id, placement, { by, expectedRevision, requestKey }) => {
    const outcome = await mutex.run(id, async () => {
      parts.requireRunning()
      const snapshot = snapshotOfPlugin(context, id)
      requireInstalled(snapshot)
      requireRevision(snapshot, expectedRevision)
      if (!isDeepStrictEqual(snapshot.context.placement ?? {}, placement))
        await journal.append(decide(snapshot, { type: 'place', placement }), by, requestKey)
      return parts.get(id)
    })
    await parts.snapshots.flush()
    return outcome
  }
}
