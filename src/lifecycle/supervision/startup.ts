import { messageOf, Problem } from '../../base/problem.ts'
import { decide } from '../../journal/decide.ts'
import { initialState, stateOf } from '../../journal/evolve.ts'
import { type HandEdit, handEdits, isInstalled, snapshotOf } from '../../journal/snapshot.ts'
import type { HostFile } from '../../schema/host-file.ts'
import { directoryName, identifierOf } from '../../schema/identifier.ts'
import type { Fact, Origin, PluginJournalEvent } from '../../schema/journal-event.ts'
import type { PluginState } from '../../schema/plugin.ts'
import type { Reconciler } from './reconciler.ts'
import { installedPlugins, isSafeMode, type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import { readChosenLimits } from '../../schema/plugin-limits.ts'
import { loadOrder, parseDependency } from '../manifests/dependencies.ts'
import type { Installer } from '../installing/installer.ts'
import type { PurgeTarget } from '../lifecycle.ts'
import type { Loader } from '../loading/loader.ts'
import { matchFilesToJournal } from '../sources/match-files.ts'
import { mirrorFiles } from '../sources/mirror.ts'
import { unknownVersion } from '../sources/missing-files.ts'

/** What happens between opening the journal and `ready`, and between the signal and the end. */

/** Plugins that load or unload at the same time: enough to keep the processor busy while others wait for the disk. */
const concurrency = 16

/** Takes every plugin that a crash left half-way to a state from which commands start. */
export async function recoverPlugins(
  context: LifecycleContext,
  loader: Loader,
  installer: Installer,
): Promise<void> {
  const { journal, directory, ownership, logger } = context
  await directory.recover()
  const replaced = await directory.replaced()
  const slot = createSlots(concurrency)
  const recover = async (id: string, before: PluginState): Promise<void> => {
    if (ownership.owns(id)) {
      await loader.settle(id)
      if (before === 'running' || before === 'loading' || before === 'unloading') {
        logger.info('The last run ended without unloading a plugin', { plugin: id, was: before })
      }
    }
    if (before === 'uninstalled') await repeatPurge(context, installer, id)
    if (isInstalled(before)) await tryToMatchFiles(context, id)
    // A crash may have come between a replacement and the removal of what it made superfluous.
    const identifier = identifierOf(id)
    if (replaced.has(directoryName(identifier)))
      await directory.prune(identifier, snapshotOfPlugin(context, id).context.kept)
  }
  const plugins = [...journal.state.plugins].map(([id, snapshot]) => ({ id, before: stateOf(snapshot) }))
  // All of them to their end: what is done once more afterwards is not to meet one that is still under way.
  const outcomes = await Promise.allSettled(plugins.map(({ id, before }) => slot(() => recover(id, before))))
  const failed = outcomes.find((outcome) => outcome.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

async function repeatPurge(
  { journal, logger }: LifecycleContext,
  installer: Installer,
  id: string,
): Promise<void> {
  const last = journal.last(id) as PluginJournalEvent | undefined
  if (last?.type !== 'PluginUninstalled' || last.data.purged.length === 0) return
  try {
    await installer.purge(id, last.data.purged as PurgeTarget[])
  } catch (error) {
    logger.warn('Files of an uninstalled plugin could not be removed', {
      plugin: id,
      error: messageOf(error),
    })
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
    context.logger.warn('The files of a plugin could not be compared with the journal', {
      plugin: id,
      error: messageOf(error),
    })
  }
}

/** Does something that writes, as soon as the disk has room for it; on failure it is done once more as a whole. */
export type Patiently = <T>(task: () => Promise<T>) => Promise<T>

/** Turns what a person changed in `.host.json` into facts. Throws when the disk refuses: the file is all there is of them. */
export async function applyHandEdits(
  context: LifecycleContext,
  file: HostFile | undefined,
  patiently: Patiently,
): Promise<void> {
  if (file === undefined) return
  const { journal, logger } = context
  if (context.sharedFiles !== undefined) {
    warnOfIgnoredEdits(context, file)
    return
  }
  const seq = file.journal?.seq
  const writtenAt = seq === undefined || seq > journal.state.seq ? journal.state : journal.stateAt(seq)
  const isImport = journal.state.seq === 0
  const edits = handEdits(snapshotOf(isImport ? initialState() : writtenAt), file)
  for (const edit of edits) {
    const facts = await factsOfEdit(context, edit)
    if (facts.length === 0) continue
    try {
      await patiently(() => journal.append(facts, 'file'))
      logger.info('Took over a change made in .host.json', { change: edit.kind, ...editSubject(edit) })
    } catch (error) {
      if (error instanceof Problem && error.code === 'storage_full') throw error
      logger.warn('A change made in .host.json could not be taken over', {
        change: edit.kind,
        ...editSubject(edit),
        error: messageOf(error),
      })
    }
  }
}

/** In a fleet the file is a copy: what counts is in the journal that all hosts share. */
function warnOfIgnoredEdits({ journal, logger }: LifecycleContext, file: HostFile): void {
  const seq = file.journal?.seq
  if (seq === undefined || seq > journal.state.seq || seq < journal.first - 1) return
  const edits = handEdits(snapshotOf(journal.stateAt(seq)), file)
  for (const edit of edits)
    logger.warn('A change made in .host.json is ignored: this host works in a fleet; change it over HTTP', {
      change: edit.kind,
      ...editSubject(edit),
    })
}

function editSubject(edit: HandEdit): { plugin?: string; repository?: string } {
  if (edit.kind === 'repositoryAdded') return { repository: edit.repository.name }
  if (edit.kind === 'repositoryRemoved') return { repository: edit.name }
  return { plugin: edit.kind === 'pluginAdded' ? edit.entry.id : edit.id }
}

async function factsOfEdit(context: LifecycleContext, edit: HandEdit): Promise<Fact[]> {
  switch (edit.kind) {
    case 'repositoryAdded':
      return [{ type: 'RepositoryAdded', plugin: null, data: edit.repository }]
    case 'repositoryRemoved':
      return [{ type: 'RepositoryRemoved', plugin: null, data: { name: edit.name } }]
    case 'pluginRemoved':
      if (!isInstalled(stateOf(snapshotOfPlugin(context, edit.id)))) return []
      return [{ type: 'PluginUninstalled', plugin: edit.id, data: { purged: [] } }]
    case 'configured':
      return [{ type: 'PluginConfigured', plugin: edit.id, data: { config: edit.config } }]
    case 'limited':
      return factsOfLimits(context, edit.id, edit.limits)
    case 'enabled':
      return edit.enabled
        ? [enabledFact(context, edit.id)]
        : [{ type: 'PluginDisabled', plugin: edit.id, data: {} }]
    case 'pluginAdded':
      return factsOfAddedPlugin(context, edit.entry)
  }
}

function enabledFact(context: LifecycleContext, id: string): Fact {
  return { type: 'PluginEnabled', plugin: id, data: isSafeMode(context) ? { deferred: true } : {} }
}

function factsOfLimits({ logger }: LifecycleContext, id: string, limits: Record<string, unknown>): Fact[] {
  const { chosen, errors } = readChosenLimits(limits, '/limits')
  if (errors.length === 0) return [{ type: 'PluginLimitsChanged', plugin: id, data: { limits: chosen } }]
  logger.warn('Limits in .host.json were not taken over', { plugin: id, errors })
  return []
}

async function factsOfAddedPlugin(
  context: LifecycleContext,
  entry: Extract<HandEdit, { kind: 'pluginAdded' }>['entry'],
): Promise<Fact[]> {
  const { id, config = {}, limits = {}, enabled = false } = entry
  const repository = entry.repository ?? null
  const facts: Fact[] = []
  if (!isInstalled(stateOf(snapshotOfPlugin(context, id)))) {
    // Files that are there count as installed; others are fetched when the plugin is loaded.
    const found = await context.directory.read(identifierOf(id)).catch(() => undefined)
    const version = found?.manifest.version ?? entry.version ?? unknownVersion
    const integrity = found?.integrity ?? entry.integrity ?? {}
    const data = { version, indexVersion: version, repository, integrity }
    facts.push({ type: 'PluginInstallRequested', plugin: id, data: { repository, version } })
    facts.push({ type: 'PluginInstalled', plugin: id, data })
  }
  if (Object.keys(config).length > 0) facts.push({ type: 'PluginConfigured', plugin: id, data: { config } })
  if (Object.keys(limits).length > 0) facts.push(...factsOfLimits(context, id, limits))
  if (enabled) facts.push(enabledFact(context, id))
  return facts
}

/** Loads every enabled plugin that does not run yet, those that others need first. */
export async function loadEnabledPlugins(
  context: LifecycleContext,
  { loader, installer, reconciler }: { loader: Loader; installer: Installer; reconciler: Reconciler },
  { by, reason }: { by: Origin; reason: string },
): Promise<void> {
  const { journal, loads, logger } = context
  await inDependencyOrder(context, enabledPlugins(context), async (id) => {
    try {
      const snapshot = snapshotOfPlugin(context, id)
      const state = stateOf(snapshot)
      // Somebody may have disabled, loaded or removed it in the meantime.
      if (loads.stopped || !snapshot.context.enabled || !isInstalled(state) || state === 'running') return
      if (state !== 'loading') {
        await journal.append(decide(snapshot, { type: 'load', reason, automatic: true }), by)
      }
      await loader.finishLoading(id, by)
      await installer.returnFromTrial(id)
    } catch (error) {
      logger.error('A plugin could not be started', { plugin: id, error: messageOf(error) })
      reconciler.later(id)
    }
  })
}

/** Unloads every running plugin, those that others need last. */
export async function unloadAllPlugins(context: LifecycleContext, loader: Loader): Promise<void> {
  const { journal, effects, logger } = context
  const running = [...journal.state.plugins.keys()].filter((id) => effects.isLoaded(id))
  await inDependencyOrder(
    context,
    running,
    async (id) => {
      try {
        if (stateOf(snapshotOfPlugin(context, id)) === 'running') {
          await journal.append(
            [{ type: 'PluginUnloadRequested', plugin: id, data: { reason: 'shutdown' } }],
            'shutdown',
          )
          await loader.finishUnloading(id, 'shutdown')
        }
      } catch (error) {
        logger.error('The end of a plugin could not be written down', { plugin: id, error: messageOf(error) })
      } finally {
        await effects.unload(id)
      }
    },
    'dependents first',
  )
}

function enabledPlugins({ journal, ownership }: LifecycleContext): string[] {
  return [...journal.state.plugins.values()]
    .filter((snapshot) => isInstalled(stateOf(snapshot)) && snapshot.context.enabled)
    .map((snapshot) => snapshot.context.id)
    .filter((id) => ownership.owns(id))
}

/** Each task starts when those of the plugins before it in a chain of dependencies have ended. */
export async function inDependencyOrder(
  context: LifecycleContext,
  ids: readonly string[],
  task: (id: string) => Promise<void>,
  direction: 'dependencies first' | 'dependents first' = 'dependencies first',
  atOnce = concurrency,
): Promise<void> {
  const wanted = new Set(ids)
  const plugins = installedPlugins(context).filter(({ id }) => wanted.has(id))
  const { order, cycles } = loadOrder(plugins)
  for (const cycle of cycles)
    context.logger.warn('Plugins depend on each other in a circle', { plugins: cycle })
  const waiting = direction === 'dependencies first' ? order : order.toReversed()
  const needs = neighbours(plugins, direction)
  const done = new Map<string, Promise<void>>()
  const slot = createSlots(atOnce)
  for (const id of waiting) {
    // Only those that come earlier: in a circle somebody has to begin.
    const before = (needs.get(id) ?? []).flatMap((other) => done.get(other) ?? [])
    done.set(
      id,
      Promise.all(before).then(() => slot(() => context.mutex.run(id, () => task(id)))),
    )
  }
  await Promise.all(done.values())
}

/** For each plugin those that have to be ready, or gone, before it. */
function neighbours(
  plugins: ReturnType<typeof installedPlugins>,
  direction: 'dependencies first' | 'dependents first',
): Map<string, string[]> {
  const before = new Map<string, string[]>(plugins.map(({ id }) => [id, []]))
  for (const { id, dependencies = [] } of plugins) {
    for (const dependency of dependencies) {
      const other = parseDependency(dependency, identifierOf(id).namespace)?.fullId
      if (other === undefined) continue
      if (direction === 'dependencies first') before.get(id)?.push(other)
      else before.get(other)?.push(id)
    }
  }
  return before
}

/** Lets so many tasks run at a time; the others wait in turn. */
function createSlots(count: number): (task: () => Promise<void>) => Promise<void> {
  let free = count
  const waiting: (() => void)[] = []
  return async (task) => {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      await task()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free += 1
      else next()
    }
  }
}
