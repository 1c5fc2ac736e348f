import { createKeyedTimers } from '../../base/time/keyed-timers.ts'
import { Problem } from '../../base/problem.ts'
import { isInstalled } from '../../journal/fold/evolve.ts'
import type { SnapshotWriter } from '../../journal/snapshot/snapshot-writer.ts'
import { isSafeMode, type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import type { Installer } from '../installing/installer.ts'
import type { Loader } from '../loading/loader.ts'
import { matchFilesToJournal } from '../sources/match-files.ts'
import { loadAutomatically } from './automatic-load.ts'

/** How long after a failure a plugin is looked at again, in milliseconds; doubles with each further failure. */
export const reconcileDelay = 5_000
const longestDelay = 60_000
/** What is refused with these may have been taken by the store of a fleet, or a part of it, with the rest to follow. */
const doubts: ReadonlySet<string> = new Set(['storage_full', 'fleet_unreachable'])
/** The same for one that could not be loaded: each try stays in the history. */
const longestLoadDelay = 5 * 60_000

/**
 * Finishes what could not be written down, because the disk was full, say: a plugin that is half-way is taken to a
 * state from which commands start, one whose files are not those of the journal gets those, and one that should run is
 * loaded. One that could not be, because the machine was short of files or threads, or its disk failed or was full, is loaded
 * when that is over, and a manifest that could not be read for that is read. Nobody has to ask for it.
 */
export interface Reconciler {
  /** Something failed for this plugin, perhaps with this error. It is looked at again later, until nothing is left to do. */
  later(id: string, error?: unknown): void
  /** Finishes at once what would be finished later, or by the next start; rejects when it still cannot be written down. */
  now(id: string): Promise<void>
  /** The same under the plugin's mutex. */
  finish(id: string): Promise<void>
  /** Nothing is done from now on. */
  stop(): void
}

/** What looks after plugins does so by these. */
export interface SupervisionParts {
  loader: Loader
  installer: Installer
  snapshots: SnapshotWriter
  reconciler: Reconciler
}

export function createReconciler(
  context: LifecycleContext,
  { loader, installer, snapshots }: Omit<SupervisionParts, 'reconciler'>,
): Reconciler {
  const { clock, effects, journal, logger, manifests, mutex, ownership, purges, unverifiedFiles } = context
  const waiting = createKeyedTimers(clock)
  const trying = new Set<string>()
  /** Plugins of which facts were refused that may be in the journal all the same: those in the fold do not say so yet. */
  const inDoubt = new Set<string>()
  let stopped = false

  const stopListening = journal.subscribe(({ type, plugin }) => {
    if (type === 'PluginLoadFailed' && loader.hasFailedTransiently(plugin)) later(plugin)
  })

  /**
   * What its state is but should not stay. A plugin that failed is up to its restart, or to a person, unless it has got other
   * files since, or is to get them: then nobody has said yet why it should not run.
   */
  function isHalfWay(id: string): boolean {
    if (!ownership.owns(id)) return false
    const snapshot = snapshotOfPlugin(context, id)
    const { enabled, error } = snapshot.context
    switch (snapshot.value) {
      case 'installing':
      case 'loading':
      case 'unloading':
        return true
      case 'running':
        return !effects.isLoaded(id)
      case 'installed':
      case 'unloaded':
        return enabled && !isSafeMode(context)
      case 'failed':
        return (
          installer.isReturning(id) ||
          ((error === null || loader.hasFailedTransiently(id)) && !isSafeMode(context))
        )
      default:
        return false
    }
  }

  function isUnfinished(id: string): boolean {
    if (isHalfWay(id)) return true
    return ownership.owns(id) && (inDoubt.has(id) || manifests.isUnread(id) || hasOtherFiles(id))
  }

  const hasOtherFiles = (id: string): boolean =>
    unverifiedFiles.has(id) && isInstalled(snapshotOfPlugin(context, id))

  function schedule(id: string, delay: number): void {
    if (!stopped && !waiting.has(id)) waiting.set(id, delay, () => void attempt(id, delay))
  }

  function later(id: string, error?: unknown): void {
    const isDoubt = error instanceof Problem && doubts.has(error.code)
    if (isDoubt && journal.finishBegun !== undefined) inDoubt.add(id)
    if (!trying.has(id) && isUnfinished(id)) schedule(id, reconcileDelay)
  }

  async function attempt(id: string, delay: number): Promise<void> {
    trying.add(id)
    try {
      const finished = await mutex.run(id, () => finish(id))
      if (!finished) return
      await snapshots.flush()
      const state = snapshotOfPlugin(context, id).value
      if (isUnfinished(id)) {
        schedule(id, Math.min(2 * delay, longestLoadDelay))
        return
      }
      logger.info('What had been left undone for a plugin is done', { plugin: id, state })
    } catch (error) {
      // Another host has it by now.
      if (!ownership.owns(id)) return
      later(id, error)
      logger.warn('What had been left undone for a plugin still cannot be done', { plugin: id, error })
      schedule(id, Math.min(2 * delay, longestDelay))
    } finally {
      trying.delete(id)
    }
  }

  /** Whether there was something to do: a command may have come first. */
  async function finish(id: string): Promise<boolean> {
    if (stopped || !isUnfinished(id)) return false
    if (inDoubt.has(id)) {
      await journal.finishBegun?.(id)
      inDoubt.delete(id)
      if (!isUnfinished(id)) return false
    }
    await loader.settle(id)
    if (hasOtherFiles(id)) await matchFilesToJournal(context, id)
    // What is written down only now may be a crash in the trial of an update.
    if ((await installer.returnFromTrial(id)) || !isHalfWay(id)) return true
    await loadAutomatically(context, { loader, installer }, id, 'left undone before')
    return true
  }

  const isGone = (id: string): boolean => !isInstalled(snapshotOfPlugin(context, id))

  /** With what an uninstallation was to remove; by itself only the next start removes that. */
  async function finishAll(id: string): Promise<void> {
    if (!stopped && isGone(id) && (await purges.left())(id)) await installer.completePurge(id)
    // What the start has not come to yet is none of that: it has an order.
    if (waiting.has(id) || trying.has(id)) await finish(id)
  }

  return {
    later,
    async now(id) {
      // What somebody is at just now is not left undone, but waited for.
      if (isGone(id) || isUnfinished(id)) await snapshots.include(() => mutex.run(id, () => finishAll(id)))
    },
    finish: finishAll,
    stop() {
      stopped = true
      stopListening()
      waiting.cancelAll()
    },
  }
}
