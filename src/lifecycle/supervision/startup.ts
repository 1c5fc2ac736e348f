import { createSemaphore } from '../../base/semaphore.ts'
import type { ScheduledCall } from '../../base/time/clock.ts'
import { installedIn, isInstalled, type PluginSnapshot } from '../../journal/fold/evolve.ts'
import { directoryName, identifierOf } from '../../schema/names/identifier.ts'
import type { Origin } from '../../schema/journal/journal-event.ts'
import { type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import type { Installer } from '../installing/installer.ts'
import type { Loader } from '../loading/loader.ts'
import { matchFilesToJournal } from '../sources/match-files.ts'
import { mirrorFiles } from '../sources/mirror.ts'
import { loadAutomatically } from './automatic-load.ts'
import { inDependencyOrder, pluginsAtOnce } from './dependency-order.ts'
import type { SupervisionParts } from './reconciler.ts'

/** What happens between opening the journal and `ready`, and between the signal and the end. */

/** Takes every plugin that a crash left half-way to a state from which commands start. */
export async function recoverPlugins(
  context: LifecycleContext,
  loader: Loader,
  installer: Installer,
): Promise<void> {
  const { journal, directory, ownership, purges, sharedFiles, logger } = context
  await directory.recover()
  const replaced = await directory.replaced()
  const isPurging = await purges.left()
  const slot = createSemaphore(pluginsAtOnce)
  const recover = async (found: PluginSnapshot): Promise<void> => {
    const { id } = found.context
    const before = found.value
    if (ownership.owns(id)) {
      await loader.settle(id)
      if (before === 'running' || before === 'loading' || before === 'unloading') {
        logger.info('The last run ended without unloading a plugin', { plugin: id, was: before })
      }
    }
    // In a fleet it was another host that uninstalled it.
    if (before === 'uninstalled' && (isPurging(id) || sharedFiles !== undefined))
      await repeatPurge(context, installer, id)
    else if (isPurging(id)) await purges.end(id)
    if (isInstalled(found)) await tryToMatchFiles(context, id)
    // A crash may have come between a replacement and the removal of what it made superfluous.
    const identifier = identifierOf(id)
    if (replaced.has(directoryName(identifier)))
      await directory.prune(identifier, snapshotOfPlugin(context, id).context.kept)
  }
  const plugins = [...journal.state.plugins.values()]
  // All of them to their end: what is done once more afterwards is not to meet one that is still under way.
  const outcomes = await Promise.allSettled(plugins.map((found) => slot(() => recover(found))))
  const failed = outcomes.find((outcome) => outcome.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

async function repeatPurge({ logger }: LifecycleContext, installer: Installer, id: string): Promise<void> {
  try {
    await installer.completePurge(id)
  } catch (error) {
    logger.warn('Files of an uninstalled plugin could not be removed', { plugin: id, error })
  }
}

async function tryToMatchFiles(context: LifecycleContext, id: string): Promise<void> {
  try {
    if (context.sharedFiles !== undefined) {
      await mirrorFiles(context, id)
      return
    }
    const { matches, installed } = await matchFilesToJournal(context, id)
    if (!matches) return
    const isLoadedNext = snapshotOfPlugin(context, id).context.enabled
    context.readAtStart.set(id, isLoadedNext ? installed : undefined)
  } catch (error) {
    context.logger.warn('The files of a plugin could not be compared with the journal', { plugin: id, error })
  }
}

/** Loads every enabled plugin that does not run yet, those that others need first. */
export async function loadEnabledPlugins(
  context: LifecycleContext,
  { loader, installer, reconciler }: Omit<SupervisionParts, 'snapshots'>,
  { by, reason }: { by: Origin; reason: string },
): Promise<void> {
  const { loads, logger } = context
  const load = async (id: string): Promise<void> => {
    try {
      const snapshot = snapshotOfPlugin(context, id)
      const state = snapshot.value
      // Somebody may have disabled, loaded or removed it in the meantime.
      if (loads.stopped || !snapshot.context.enabled || !isInstalled(snapshot) || state === 'running') return
      await loadAutomatically(context, { loader, installer }, id, reason, by)
    } catch (error) {
      logger.error('A plugin could not be started', { plugin: id, error })
      reconciler.later(id, error)
    }
  }
  await inDependencyOrder(context, enabledPlugins(context), load, 'dependencies first', {
    queueOf: (id) => queueOf(context, id),
  })
}

/** A repository may not answer: plugins whose files have to be fetched from there keep no others waiting. */
async function queueOf(context: LifecycleContext, id: string): Promise<string> {
  const { readAtStart } = context
  if (readAtStart.has(id) || (await hasFiles(context, id))) return 'files are here'
  return `files of ${snapshotOfPlugin(context, id).context.repository ?? 'no repository'}`
}

/** In its folder, or with the versions that are kept. */
async function hasFiles(context: LifecycleContext, id: string): Promise<boolean> {
  const { directory } = context
  const plugin = identifierOf(id)
  if (await directory.exists(plugin)) return true
  const { version, integrity } = snapshotOfPlugin(context, id).context
  // One that cannot be looked at is told about as it is loaded.
  return version !== null && (await directory.hasKept(plugin, { version, integrity }).catch(() => false))
}

/**
 * Milliseconds in which plugins are unloaded few at a time, and those that others need last. Then all that are left are, at
 * once: the end of the host is waited for 30 seconds by whoever manages it, and that of one plugin takes up to nine.
 */
export const orderlyUnloadTime = 14_000

/** Unloads every running plugin, those that others need last. */
export async function unloadAllPlugins(context: LifecycleContext, loader: Loader): Promise<void> {
  const { journal, effects, clock, logger } = context
  const running = [...journal.state.plugins.keys()].filter((id) => effects.isLoaded(id))
  let timer: ScheduledCall | undefined
  const hurry = new Promise<void>((resolve) => (timer = clock.schedule(orderlyUnloadTime, resolve)))
  await inDependencyOrder(
    context,
    running,
    async (id) => {
      try {
        if (snapshotOfPlugin(context, id).value === 'running') {
          await journal.append(
            [{ type: 'PluginUnloadRequested', plugin: id, data: { reason: 'shutdown' } }],
            'shutdown',
          )
          await loader.finishUnloading(id, 'shutdown')
        }
      } catch (error) {
        logger.error('The end of a plugin could not be written down', { plugin: id, error })
      } finally {
        await effects.unload(id)
      }
    },
    'dependents first',
    { hurry },
  ).finally(() => timer?.cancel())
}

/** Full ids of those that this host is to load. */
export function enabledPlugins({ journal, ownership }: LifecycleContext): string[] {
  return installedIn(journal.state)
    .filter(({ context }) => context.enabled)
    .map(({ context }) => context.id)
    .filter((id) => ownership.owns(id))
}
