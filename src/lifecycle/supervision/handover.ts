import { createKeyedTimers } from '../../base/time/keyed-timers.ts'
import { messageOf } from '../../base/problem.ts'
import { isInstalled } from '../../journal/fold/evolve.ts'
import { identifierOf } from '../../schema/names/identifier.ts'
import { isTransient } from '../../journal/fold/stale-decision.ts'
import type { PluginFact } from '../../schema/journal/journal-event.ts'
import { isSafeMode, type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import { dependenciesElsewhere } from '../loading/dependencies-elsewhere.ts'
import { moveToAnotherHost } from '../running/load-cancellation.ts'
import { isOfJournal, readAhead } from '../sources/match-files.ts'
import { mirrorFiles } from '../sources/mirror.ts'
import { loadAutomatically } from './automatic-load.ts'
import type { SupervisionParts } from './reconciler.ts'
import { inDependencyOrder } from './dependency-order.ts'
import { createDependencyWait } from './dependency-wait.ts'

/** How plugins come from other hosts of a fleet, and go to them: nobody outside sees them stop. */
export interface Handover {
  /**
   * This host has the plugin from now on: that is written down, and the plugin is loaded if it is enabled. Several that are
   * taken in one turn come in the order of their dependencies. Resolves when it is there, or has failed. Never rejects.
   */
  take(id: string, move: Move): Promise<void>
  /** Unloads it; what it shows of itself stays. Resolves when nothing of it is left here. */
  giveUp(id: string): Promise<void>
  /** Somebody else has it already: nothing of it acts any more from now on. */
  cut(id: string): void
  /** Gets the files of a plugin that another host has changed. Answers whether it has all of them now. Never rejects. */
  mirror(id: string): Promise<boolean>
  /** Takes away what is left here of a plugin that another host has uninstalled. Never rejects. */
  removed(id: string, purged: readonly string[]): Promise<void>
}

export interface Move {
  /** Name of this host. */
  host: string
  epoch: number
  reason: string
}

/** Milliseconds until a plugin that could not be taken over is tried again. */
const retryPause = 500

export function createHandover(
  context: LifecycleContext,
  parts: SupervisionParts & { forgetLog(id: string): void },
): Handover {
  const { journal, ownership, effects, loads, mutex, retained, directory, manifests, clock, logger } = context
  const { loader, installer, reconciler, snapshots } = parts
  /** Those that this host is to have. */
  const held = new Map<string, Move>()
  const retries = createKeyedTimers(clock)
  /** Why files could not be fetched: it is told once. */
  const unfetched = new Map<string, string>()
  const dependencies = createDependencyWait(context)
  let taken = new Map<string, Move>()
  let taking: Promise<void> | undefined

  async function recordMove(id: string, { host, epoch, reason }: Move): Promise<void> {
    const { context: before } = snapshotOfPlugin(context, id)
    // The same lease again, after the store was away for a moment.
    if (before.host === host && before.epoch === epoch) return
    const from = before.host ?? null
    const data = { from, to: host, epoch, reason, keepsRevision: true } as const
    const fact: PluginFact = { type: 'PluginMoved', plugin: id, data }
    await journal.append([fact], 'supervisor')
  }

  async function takeOne(id: string, move: Move): Promise<void> {
    try {
      if (!ownership.owns(id) || !isInstalled(snapshotOfPlugin(context, id))) return
      // It may have been cut a moment ago.
      await effects.unload(id, { staysShown: true })
      await recordMove(id, move)
      await mirrorFiles(context, id).catch((error: unknown) =>
        // What is here may do; the load says so if it does not.
        logger.warn('The files of a plugin could not be fetched', { plugin: id, error }),
      )
      if (snapshotOfPlugin(context, id).context.enabled)
        await dependencies.ready(id, () => held.get(id) !== move)
      if (held.get(id) === move) await load(id)
    } catch (error) {
      if (!ownership.owns(id) || held.get(id) !== move) return
      logger.error('A plugin could not be taken over', { plugin: id, error })
      // What the hosts share was away for a moment: nobody else does what is to be done.
      if (isTransient(error))
        retries.set(id, retryPause, () => {
          if (held.get(id) === move) void take(id, move)
        })
      else reconciler.later(id, error)
    } finally {
      if (held.get(id) === move) dependencies.done(id)
    }
  }

  /** Another host has it, or is to have it. */
  function letGo(id: string): void {
    held.delete(id)
    dependencies.done(id)
    retries.cancel(id)
  }

  async function hasOtherFiles(id: string): Promise<boolean> {
    const present = await readAhead(context, id)
    return present === undefined || !isOfJournal(context, id, present)
  }

  function take(id: string, move: Move): Promise<void> {
    held.set(id, move)
    taken.set(id, move)
    dependencies.coming(id)
    return (taking ??= takeTogether())
  }

  async function load(id: string): Promise<void> {
    const before = snapshotOfPlugin(context, id)
    if (!before.context.enabled || isSafeMode(context)) {
      await loader.settle(id)
      return
    }
    const state = before.value
    const isApart = dependenciesElsewhere(context, id).length > 0
    if (state === 'running' && !isApart) {
      await loader.resume(id)
      if (!(await installer.returnFromTrial(id))) reconciler.later(id)
      return
    }
    const isUnfetched = before.context.error?.code === 'repository_unreachable'
    // It starts again when its time has come; the repository may be read from here at once.
    if (state === 'failed' && before.context.restart !== null && !isUnfetched) return
    // Where what it needs does not come, that is no crash, and trying again is of no use.
    if (state === 'unloading' || state === 'running') await loader.settle(id)
    await loadAutomatically(context, parts, id, 'taken over')
  }

  async function takeTogether(): Promise<void> {
    // All of one turn.
    await Promise.resolve()
    const group = taken
    taken = new Map()
    taking = undefined
    await inDependencyOrder(context, [...group.keys()], (id) => {
      const move = group.get(id)
      return move === undefined ? Promise.resolve() : takeOne(id, move)
    })
    await snapshots.flush()
  }

  return {
    take,
    async giveUp(id) {
      letGo(id)
      const go = loads.hold(id, moveToAnotherHost)
      try {
        await mutex.run(id, () => effects.unload(id, { staysShown: true }))
      } finally {
        go()
      }
    },
    cut(id) {
      letGo(id)
      effects.cut(id)
      // One that is being loaded must not go on until its deadline, and it is not the plugin that has failed.
      const go = loads.hold(id, moveToAnotherHost)
      void effects.unload(id, { staysShown: true }).finally(go)
    },
    async removed(id, purged) {
      try {
        await mutex.run(id, async () => {
          if (isInstalled(snapshotOfPlugin(context, id))) return
          await retained.clear(id)
          if (purged.includes('files')) await directory.remove(identifierOf(id))
          manifests.forget(id)
          parts.forgetLog(id)
        })
      } catch (error) {
        logger.warn('What is left of an uninstalled plugin could not be removed', { plugin: id, error })
      }
    },
    async mirror(id) {
      try {
        await mutex.run(id, async () => {
          if (!isInstalled(snapshotOfPlugin(context, id)) || effects.isLoaded(id)) return
          if (!ownership.owns(id) || (await hasOtherFiles(id))) await mirrorFiles(context, id)
        })
        unfetched.delete(id)
        return !manifests.isUnread(id)
      } catch (error) {
        const reason = messageOf(error)
        if (unfetched.get(id) !== reason)
          logger.warn('The files of a plugin could not be fetched; it is tried again', {
            plugin: id,
            error: reason,
          })
        unfetched.set(id, reason)
        return false
      }
    },
  }
}
