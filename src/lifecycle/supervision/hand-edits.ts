import { isDeepStrictEqual } from 'node:util'
import { Problem } from '../../base/problem.ts'
import { initialState, isInstalled } from '../../journal/fold/evolve.ts'
import { type HandEdit, handEdits, snapshotOf } from '../../journal/snapshot/snapshot.ts'
import type { RepositorySettings } from '../../repository/repository.ts'
import type { HostFile } from '../../schema/journal/host-file.ts'
import { identifierOf } from '../../schema/names/identifier.ts'
import type { Fact } from '../../schema/journal/journal-event.ts'
import type { Config } from '../../schema/plugin/plugin.ts'
import { readChosenLimits } from '../../schema/plugin/plugin-limits.ts'
import { configuredRepositories, isSafeMode, type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import { openConfig, restoreConfig } from '../installing/restore-config.ts'
import type { RetryOnDiskFull } from './start-and-stop.ts'
import { unknownVersion } from '../sources/missing-files.ts'

/** What a person has changed in `.host.json` while the host was stopped. */

/**
 * Turns what a person changed in `.host.json` into facts. Throws when the disk refuses, or the start is ended: the file is all
 * there is of them. Answers whether there were any.
 */
export async function applyHandEdits(
  context: LifecycleContext,
  file: HostFile | undefined,
  retryOnDiskFull: RetryOnDiskFull,
): Promise<boolean> {
  if (file === undefined) return false
  const { journal, logger } = context
  if (context.sharedFiles !== undefined) {
    warnOfIgnoredEdits(context, file)
    return false
  }
  const seq = file.journal?.seq
  const writtenAt = seq === undefined || seq > journal.live.seq ? journal.state : journal.stateAt(seq)
  const isImport = journal.live.seq === 0
  const edits = handEdits(snapshotOf(isImport ? initialState() : writtenAt), file)
  for (const edit of edits) {
    const facts = await factsOfEdit(context, edit)
    if (facts.length === 0) continue
    try {
      await retryOnDiskFull(() => journal.append(facts, 'file'))
      logger.info('Took over a change made in .host.json', { change: edit.kind, ...editSubject(edit) })
    } catch (error) {
      // Anything else than a machine that refuses it: the next start has it in the file still.
      if (!(error instanceof Problem) || error.code !== 'invalid_transition') throw error
      logger.warn('A change made in .host.json could not be taken over', {
        change: edit.kind,
        ...editSubject(edit),
        error,
      })
    }
  }
  return edits.length > 0
}

/** In a fleet the file is a copy: what counts is in the journal that all hosts share. */
function warnOfIgnoredEdits({ journal, logger }: LifecycleContext, file: HostFile): void {
  const seq = file.journal?.seq
  if (seq === undefined || seq > journal.live.seq || seq < journal.first - 1) return
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

/** None where it is so already: a start may have ended before it had written the file anew. */
async function factsOfEdit(context: LifecycleContext, edit: HandEdit): Promise<Fact[]> {
  const repositoryNamed = (wanted: string): RepositorySettings | undefined =>
    configuredRepositories(context).find(({ name }) => name === wanted)
  switch (edit.kind) {
    case 'repositoryAdded': {
      const { name, url, publicKey } = edit.repository
      const present = repositoryNamed(name)
      if (present?.url === url && present.publicKey === publicKey) return []
      return [{ type: 'RepositoryAdded', plugin: null, data: edit.repository }]
    }
    case 'repositoryRemoved':
      if (repositoryNamed(edit.name) === undefined) return []
      return [{ type: 'RepositoryRemoved', plugin: null, data: { name: edit.name } }]
    case 'pluginRemoved':
      if (!isInstalled(snapshotOfPlugin(context, edit.id))) return []
      return [{ type: 'PluginUninstalled', plugin: edit.id, data: { purged: [] } }]
    case 'configured':
      return factsOfConfig(context, edit.id, edit.config)
    case 'limited':
      return factsOfLimits(context, edit.id, edit.limits)
    case 'enabled':
      return factsOfSwitch(context, edit.id, edit.enabled)
    case 'pluginAdded':
      return factsOfAddedPlugin(context, edit.entry)
  }
}

function factsOfSwitch(context: LifecycleContext, id: string, enabled: boolean): Fact[] {
  if (snapshotOfPlugin(context, id).context.enabled === enabled) return []
  if (!enabled) return [{ type: 'PluginDisabled', plugin: id, data: {} }]
  return [{ type: 'PluginEnabled', plugin: id, data: isSafeMode(context) ? { deferred: true } : {} }]
}

/** Whoever has copied the configuration from the API, or from an export, has placeholders in place of secrets. */
function factsOfConfig(context: LifecycleContext, id: string, written: Config): Fact[] {
  const { config, errors } = restoreConfig(context, id, written)
  if (errors.length > 0)
    context.logger.warn('A configuration in .host.json was not taken over', { plugin: id, errors })
  if (errors.length > 0 || isDeepStrictEqual(config, snapshotOfPlugin(context, id).context.config)) return []
  return [{ type: 'PluginConfigured', plugin: id, data: { config } }]
}

function factsOfLimits(context: LifecycleContext, id: string, limits: Record<string, unknown>): Fact[] {
  const { chosen, errors } = readChosenLimits(limits, '/limits')
  if (errors.length > 0)
    context.logger.warn('Limits in .host.json were not taken over', { plugin: id, errors })
  if (errors.length > 0 || isDeepStrictEqual(chosen, snapshotOfPlugin(context, id).context.limits)) return []
  return [{ type: 'PluginLimitsChanged', plugin: id, data: { limits: chosen } }]
}

async function factsOfAddedPlugin(
  context: LifecycleContext,
  entry: Extract<HandEdit, { kind: 'pluginAdded' }>['entry'],
): Promise<Fact[]> {
  const { id, config = {}, limits = {}, enabled = false } = entry
  const repository = entry.repository ?? null
  const facts: Fact[] = []
  if (isInstalled(snapshotOfPlugin(context, id))) {
    if (Object.keys(config).length > 0) facts.push(...factsOfConfig(context, id, config))
  } else {
    // Files that are there count as installed; others are fetched when the plugin is loaded.
    const found = await context.directory.read(identifierOf(id)).catch(() => undefined)
    const version = found?.manifest.version ?? entry.version ?? unknownVersion
    const integrity = found?.integrity ?? entry.integrity ?? {}
    const data = { version, indexVersion: version, repository, integrity }
    facts.push({ type: 'PluginInstallRequested', plugin: id, data: { repository, version } })
    facts.push({ type: 'PluginInstalled', plugin: id, data })
    const open = openConfig(found?.manifest, config)
    if (open.places.length > 0)
      context.logger.warn(
        'A plugin in .host.json has placeholders for secrets that are not here: set them anew',
        {
          plugin: id,
          places: open.places,
        },
      )
    if (Object.keys(open.config).length > 0)
      facts.push({ type: 'PluginConfigured', plugin: id, data: { config: open.config } })
  }
  if (Object.keys(limits).length > 0) facts.push(...factsOfLimits(context, id, limits))
  if (enabled) facts.push(...factsOfSwitch(context, id, true))
  return facts
}
