import type { PluginFact } from '../../schema/journal/journal-event.ts'
import { isSafeMode, type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import type { CommandContext } from '../lifecycle.ts'
import type { Loader } from './loader.ts'

/** Writes facts down and loads the plugin anew, if it is enabled and nothing is in the way. Under its mutex. */
export type Reload = (
  id: string,
  facts: readonly PluginFact[],
  reason: string,
  command: CommandContext,
) => Promise<void>

export function createReload(context: LifecycleContext, loader: Loader): Reload {
  const { journal } = context
  return async (id, facts, reason, { by, requestKey }) => {
    const snapshot = snapshotOfPlugin(context, id)
    const load: PluginFact = { type: 'PluginLoadRequested', plugin: id, data: { reason } }
    const ahead = snapshot.context.enabled ? loader.readAhead(id) : undefined
    if (snapshot.value === 'running') {
      const unload: PluginFact = { type: 'PluginUnloadRequested', plugin: id, data: { reason } }
      await journal.append([...facts, unload], by, requestKey)
      await loader.finishUnloading(id, by, [load])
      await loader.finishLoading(id, by, ahead)
    } else if (snapshot.context.enabled && !isSafeMode(context)) {
      await journal.append([...facts, load], by, requestKey)
      await loader.finishLoading(id, by, ahead)
    } else if (facts.length > 0) {
      await journal.append(facts, by, requestKey)
    }
  }
}
