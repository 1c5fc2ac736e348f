import type { PluginFact } from '../../schema/journal/journal-event.ts'
import type { SupervisionParts } from './reconciler.ts'
import { type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import type { Reload } from '../loading/reload.ts'
import { loadAutomatically } from './automatic-load.ts'
import { inDependencyOrder } from './dependency-order.ts'

/**
 * Plugins that get another worker: because a neighbour took theirs along, or because they take too much of one
 * that they share. Neither is a crash, so neither counts as one.
 */
export interface Evictions {
  /** It has lost its worker; `released` resolves when everything of it has been cleaned up. */
  evicted(id: string, reason: string, released: Promise<void>): void
  /** It still runs, and has to be loaded again. `wanted`: whether that is still so. */
  moveAway(id: string, reason: string, wanted: () => boolean): void
  /** Resolves when those that have lost their worker have come back, or will not. */
  idle(): Promise<void>
}

export interface EvictionsSettings extends SupervisionParts {
  context: LifecycleContext
  commands: { readonly stopping: boolean }
  reload: Reload
}

export function createEvictions(settings: EvictionsSettings): Evictions {
  const { context, installer, snapshots, reconciler, commands, reload } = settings
  const { journal, effects, mutex, logger } = context
  let waiting = new Map<string, { reason: string; released: Promise<void> }>()
  let scheduled: NodeJS.Immediate | undefined
  let returning: Promise<void> = Promise.resolve()

  async function comeBack(id: string, reason: string): Promise<void> {
    const snapshot = snapshotOfPlugin(context, id)
    const state = snapshot.value
    const facts: PluginFact[] = []
    if (!context.ownership.owns(id)) return
    if (state === 'running' && !effects.isLoaded(id))
      facts.push({ type: 'PluginUnloaded', plugin: id, data: { reason } })
    // Unloaded: a command came first, and wrote that down.
    else if (state !== 'unloaded' || !snapshot.context.enabled) return
    if (commands.stopping) {
      await journal.append(facts, 'supervisor')
      return
    }
    facts.push({ type: 'PluginLoadRequested', plugin: id, data: { reason, automatic: true } })
    await journal.append(facts, 'supervisor')
    await loadAutomatically(context, settings, id, reason)
  }

  async function comeBackTogether(): Promise<void> {
    const group = waiting
    waiting = new Map()
    scheduled = undefined
    const task = async (id: string): Promise<void> => {
      const one = group.get(id)
      if (one === undefined) return
      try {
        await one.released
        await comeBack(id, one.reason)
      } catch (error) {
        logger.error('A plugin that lost its worker could not come back', { plugin: id, error })
        reconciler.later(id, error)
      }
    }
    // All at once: what they wait for is the disk, and they share each write.
    await inDependencyOrder(context, [...group.keys()], task, 'dependencies first', { atOnce: group.size })
    try {
      await snapshots.flush()
    } catch (error) {
      logger.error('The snapshot could not be written', { error })
    }
  }

  return {
    evicted(id, reason, released) {
      waiting.set(id, { reason, released })
      // All that shared the worker are told within one turn; those that others need come back first.
      if (scheduled !== undefined) return
      const before = returning
      const settled = new Promise<void>((resolve) => {
        scheduled = setImmediate(() => void comeBackTogether().finally(resolve))
      })
      returning = before.then(() => settled)
    },
    moveAway(id, reason, wanted) {
      mutex
        .run(id, async () => {
          if (commands.stopping || !wanted() || snapshotOfPlugin(context, id).value !== 'running') return
          await reload(id, [], reason, { by: 'supervisor' })
          await installer.returnFromTrial(id)
        })
        .then(() => snapshots.flush())
        .catch((error: unknown) => {
          logger.error('A plugin could not be moved to another worker', { plugin: id, error })
          reconciler.later(id, error)
        })
    },
    idle: () => returning,
  }
}
