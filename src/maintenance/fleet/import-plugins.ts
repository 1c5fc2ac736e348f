import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLogger } from '../../base/log/log.ts'
import { messageOf, Problem } from '../../base/problem.ts'
import type { FleetFiles } from '../../fleet/files/fleet-files.ts'
import { eventsOf } from '../../fleet/journal/events-of.ts'
import { type FleetJournal, openFleetJournal } from '../../fleet/journal/fleet-journal.ts'
import { retrying } from '../../fleet/store/retrying.ts'
import type { ValueBucket } from '../../fleet/values/value-bucket.ts'
import { type HostState, pluginIn } from '../../journal/fold/evolve.ts'
import type { Fact, HostFact, PluginFact } from '../../schema/journal/journal-event.ts'
import type { MembershipSettings } from './membership-command.ts'
import { importValues } from './import-values.ts'
import type { HostPlugin, SingleHost } from './read-host.ts'

export interface PluginImport {
  imported: string[]
  refused: { what: string; reason: string }[]
}

/** Writes down the plugins of a further host, and what belongs to them, as facts of a fleet that is there already. */
export async function importPlugins(
  settings: MembershipSettings,
  host: SingleHost,
  stores: { files: FleetFiles; values: ValueBucket },
): Promise<PluginImport> {
  const { connection, fleet, clock } = settings
  // What it needs of the fleet's journal: the directory is not touched.
  const copy = await mkdtemp(join(tmpdir(), 'lupine-join-'))
  try {
    const journal = await openFleetJournal({
      ...{ connection, fleet, directory: copy, files: settings.files, clock, logger: silentLogger },
      vault: host.vault,
    })
    try {
      return await bring(settings, host, stores, journal)
    } finally {
      await journal.close()
    }
  } finally {
    await rm(copy, { recursive: true, force: true })
  }
}

async function bring(
  { clock }: MembershipSettings,
  host: SingleHost,
  { files, values }: { files: FleetFiles; values: ValueBucket },
  journal: FleetJournal,
): Promise<PluginImport> {
  const result: PluginImport = { imported: [], refused: [] }
  const repositories = await bringRepositories(host, journal)
  result.refused.push(...repositories.map((name) => ({ what: name, reason: otherRepository })))
  const left = new Map(host.values)
  for (const plugin of host.plugins) {
    const { id } = plugin
    const entries = left.get(id) ?? new Map()
    left.delete(id)
    const mark = `join ${host.journal.last(id)?.id ?? id}`
    if (isBrought(journal, id, mark)) {
      // All of it, if that run was ended in the midst: nobody else may be there to write the rest.
      await journal.decide(id, () => [], 'file')
      result.imported.push(id)
      continue
    }
    const reason = whyNot(journal.state, plugin, repositories)
    if (reason !== undefined) {
      result.refused.push({ what: id, reason })
      continue
    }
    await files.put(plugin.contents)
    await retrying(clock, () => importValues(values, id, entries, false))
    try {
      await journal.append(factsOf(plugin), 'file', mark)
      result.imported.push(id)
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== 'invalid_transition') throw error
      result.refused.push({ what: id, reason: `another host has just installed it (${messageOf(error)})` })
    }
  }
  for (const [id, entries] of left) {
    // Of plugins that are not installed here any more.
    const isFree = journal.state.plugins.get(id) === undefined
    if (isFree && (await retrying(clock, () => importValues(values, id, entries)))) continue
    result.refused.push({ what: `the stored values of ${id}`, reason: 'the fleet has, or had, that plugin' })
  }
  return result
}

const otherRepository = 'the fleet has another repository of that name'

function whyNot(
  state: HostState,
  { id, snapshot }: HostPlugin,
  refused: readonly string[],
): string | undefined {
  const { repository } = snapshot.context
  const there = pluginIn(state, id).value
  if (there !== 'notInstalled' && there !== 'uninstalled') return 'the fleet has this plugin already'
  if (repository !== null && refused.includes(repository)) {
    return `it comes from ${repository}, and ${otherRepository}`
  }
  return undefined
}

/** Whether an earlier run has imported it: its first fact promises the others. */
function isBrought(journal: FleetJournal, plugin: string, mark: string): boolean {
  for (const { requestKey } of eventsOf(journal, { plugin })) if (requestKey === mark) return true
  return false
}

/** Answers the names of those that mean something else in the fleet. */
async function bringRepositories(host: SingleHost, journal: FleetJournal): Promise<string[]> {
  const own = host.journal.live.host.context
  const refused: string[] = []
  await journal.decide(
    null,
    (state) => {
      const facts: HostFact[] = []
      refused.length = 0
      const there = state.host.context
      for (const repository of own.repositories) {
        const same = there.repositories.find(({ name }) => name === repository.name)
        if (same === undefined) facts.push({ type: 'RepositoryAdded', plugin: null, data: repository })
        else if (same.url !== repository.url || same.publicKey !== repository.publicKey)
          refused.push(repository.name)
      }
      for (const [namespace, repository] of Object.entries(own.namespaces)) {
        if (there.namespaces[namespace] !== undefined || refused.includes(repository)) continue
        facts.push({ type: 'NamespaceClaimed', plugin: null, data: { namespace, repository } })
      }
      return facts
    },
    'file',
  )
  return refused
}

/** The way to where the plugin is now: each version that is kept, with its configuration, the present one last. */
function factsOf({ id: plugin, snapshot, present }: HostPlugin): Fact[] {
  const { version, indexVersion, repository, integrity, config, kept } = snapshot.context
  const { limits, hookSecret, enabled, formerSecrets } = snapshot.context
  const current = { version: version ?? '', indexVersion, repository, integrity, ...present, config }
  const facts: PluginFact[] = [
    { type: 'PluginInstallRequested', plugin, data: { repository, version: current.version } },
  ]
  let configBefore: unknown = '{}'
  for (const [index, release] of [...[...kept].reverse(), current].entries()) {
    const data = {
      version: release.version,
      indexVersion: release.indexVersion,
      repository: release.repository,
      integrity: release.integrity,
    }
    // Before the first configuration: what is encrypted of it depends on this.
    if (index === 0) {
      const secrets = formerSecrets === undefined ? {} : { formerSecrets }
      facts.push({ type: 'PluginInstalled', plugin, data: { ...data, ...secrets } })
    } else facts.push({ type: 'PluginUpdated', plugin, data })
    const text = JSON.stringify(release.config)
    if (text !== configBefore)
      facts.push({ type: 'PluginConfigured', plugin, data: { config: release.config } })
    configBefore = text
  }
  if (Object.keys(limits).length > 0) facts.push({ type: 'PluginLimitsChanged', plugin, data: { limits } })
  if (hookSecret !== undefined) facts.push({ type: 'PluginHookSecretChanged', plugin, data: { hookSecret } })
  // Whoever holds the plugin loads it.
  if (enabled) facts.push({ type: 'PluginEnabled', plugin, data: { deferred: true } })
  return facts
}
