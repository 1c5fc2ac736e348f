import { decide } from '../../journal/fold/decide.ts'
import type { Origin } from '../../schema/journal/journal-event.ts'
import { isSafeMode, type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import type { Loader } from '../loading/loader.ts'

/** What comes before and after a change of a plugin's files. Every function is called under the plugin's mutex. */
export interface UnloadAndLoad {
  /** Takes a running plugin down; loading it again is the caller's. */
  unloadIfRunning(id: string, reason: string, by: Origin): Promise<void>
  loadIfEnabled(id: string, reason: string, by: Origin): Promise<void>
}

export function createUnloadAndLoad(context: LifecycleContext, loader: Loader): UnloadAndLoad {
  const { journal } = context
  return {
    async unloadIfRunning(id, reason, by) {
      const facts = decide(snapshotOfPlugin(context, id), { type: 'unload', reason })
      if (facts.length === 0) return
      await journal.append(facts, by)
      await loader.finishUnloading(id, by)
    },
    async loadIfEnabled(id, reason, by) {
      const snapshot = snapshotOfPlugin(context, id)
      if (!snapshot.context.enabled || isSafeMode(context)) return
      await journal.append(decide(snapshot, { type: 'load', reason }), by)
      await loader.finishLoading(id, by)
    },
  }
}
