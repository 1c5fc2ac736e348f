import fc from 'fast-check'
import type { Fact, PluginFact } from '../../src/schema/journal/journal-event.ts'

/** Facts for laws about the journal: some of every type, about two plugins and the host. */

export const id = '@fixtures/hello'
export const other = '@fixtures/other'

export function installation(plugin: string): PluginFact[] {
  return [
    { type: 'PluginInstallRequested', plugin, data: { repository: null, version: '1.0.0' } },
    {
      type: 'PluginInstalled',
      plugin,
      data: { version: '1.0.0', indexVersion: '1.0.0', repository: null, integrity: {} },
    },
  ]
}

export function configured(plugin: string, config: Record<string, unknown>): PluginFact {
  return { type: 'PluginConfigured', plugin, data: { config } }
}

const at = '2026-01-01T00:00:00.000Z'
const error = { code: 'worker_died', message: 'x', at }
const publicKey = 'RWQafVbMbfi+2RTqMUQ2aSzOBHy76uhMGmujIeVCk6zwa7SHBQmwe8rK'
const release = (version: string) => ({
  version,
  indexVersion: null,
  repository: 'r',
  integrity: { 'init.lua': version },
})

/** Installations, enabling and loading come more often: much else is only possible after them. */
export function pluginFactsOf(plugin: string): PluginFact[] {
  return [
    ...installation(plugin),
    ...installation(plugin),
    { type: 'PluginInstallFailed', plugin, data: { error } },
    { type: 'PluginEnabled', plugin, data: {} },
    { type: 'PluginEnabled', plugin, data: { deferred: true } },
    { type: 'PluginLoaded', plugin, data: {} },
    { type: 'PluginLoaded', plugin, data: { changedFiles: ['init.lua'] } },
    { type: 'PluginLoadRequested', plugin, data: { reason: 'test' } },
    { type: 'PluginLoadRequested', plugin, data: { reason: 'test', automatic: true } },
    {
      type: 'PluginLoadFailed',
      plugin,
      data: { error, changedFiles: [], restart: { attempt: 1, delay: 5_000 } },
    },
    { type: 'PluginCrashed', plugin, data: { error } },
    {
      type: 'PluginCrashed',
      plugin,
      data: {
        error: { ...error, log: [{ at: '', level: 'info', message: 'x' }] },
        ranFor: 5,
        crashes: 3,
        restart: { attempt: 3, delay: 4_000 },
      },
    },
    { type: 'PluginStabilized', plugin, data: {} },
    { type: 'PluginStabilized', plugin, data: { keepsRevision: true } },
    { type: 'PluginLimitReached', plugin, data: { limit: 'timers', value: 5 } },
    { type: 'PluginLimitReached', plugin, data: { limit: 'timers', value: 5, keepsRevision: true } },
    { type: 'PluginHookSecretChanged', plugin, data: { hookSecret: 'h0oK-5ecret' } },
    { type: 'PluginHookSecretChanged', plugin, data: { hookSecret: 'x', keepsRevision: true } },
    { type: 'PluginLimitsChanged', plugin, data: { limits: { timers: 5 } } },
    { type: 'PluginRolledBack', plugin, data: { reason: 'test', version: '2.0.0', from: '3.0.0' } },
    { type: 'PluginRolledBack', plugin, data: { reason: 'test' } },
    { type: 'PluginDisabled', plugin, data: {} },
    { type: 'PluginUnloadRequested', plugin, data: { reason: 'test' } },
    { type: 'PluginUnloaded', plugin, data: {} },
    configured(plugin, { a: 1 }),
    configured(plugin, { nested: { list: [1, 'two', null] }, apiKey: 'secret' }),
    { type: 'PluginUpdated', plugin, data: release('2.0.0') },
    {
      type: 'PluginUpdated',
      plugin,
      data: { ...release('3.0.0'), permissionsAdded: [{ kind: 'host', value: 'a.example' }] },
    },
    { type: 'PluginUpdated', plugin, data: { ...release('4.0.0'), formerSecrets: ['/pin', '/rows/code'] } },
    { type: 'PluginFilesRestored', plugin, data: { ...release('1.0.0'), source: 'kept' } },
    { type: 'PluginVersionConfirmed', plugin, data: { indexVersion: '2.0.1' } },
    { type: 'PluginVersionConfirmed', plugin, data: { indexVersion: '2.0.1', keepsRevision: true } },
    { type: 'PluginUninstalled', plugin, data: { purged: [] } },
    { type: 'PluginUninstalled', plugin, data: { purged: ['kv'], formerSecrets: ['/phrase'] } },
    { type: 'PluginPlaced', plugin, data: { placement: { host: 'a', labels: ['serial'] } } },
    { type: 'PluginPlaced', plugin, data: { placement: {} } },
    { type: 'PluginMoved', plugin, data: { from: null, to: 'a', epoch: 1, reason: 'start' } },
    {
      type: 'PluginMoved',
      plugin,
      data: { from: 'a', to: 'b', epoch: 2, reason: 'host lost', keepsRevision: true },
    },
  ]
}

export const hostFactsOfAll: Fact[] = [
  { type: 'HostStarted', plugin: null, data: { host: 'h', hostVersion: '1.0.0' } },
  { type: 'HostReady', plugin: null, data: {} },
  { type: 'HostStopping', plugin: null, data: {} },
  { type: 'HostStopping', plugin: null, data: { failed: true } },
  { type: 'HostStopped', plugin: null, data: {} },
  { type: 'HostSafeModeEntered', plugin: null, data: { reason: 'unfinishedStarts', unfinishedStarts: 3 } },
  { type: 'HostSafeModeLeft', plugin: null, data: {} },
  { type: 'RepositoryAdded', plugin: null, data: { name: 'r', url: './r' } },
  { type: 'RepositoryAdded', plugin: null, data: { name: 'r', url: './r', publicKey } },
  {
    type: 'RepositoryAdded',
    plugin: null,
    data: { name: 'r', url: 'https://a:b@c.example', publicKey, signedAt: 5 },
  },
  { type: 'RepositoryIndexAccepted', plugin: null, data: { name: 'r', signedAt: 7 } },
  { type: 'RepositoryIndexAccepted', plugin: null, data: { name: 'r', signedAt: 6 } },
  { type: 'RepositoryIndexAccepted', plugin: null, data: { name: 'unknown', signedAt: 6 } },
  { type: 'RepositoryRemoved', plugin: null, data: { name: 'r' } },
  { type: 'NamespaceClaimed', plugin: null, data: { namespace: 'fixtures', repository: 'r' } },
  {
    type: 'HostJoined',
    plugin: null,
    data: { host: 'a', hostVersion: '1.0.0', address: 'http://a', labels: ['serial'] },
  },
  { type: 'HostDrainRequested', plugin: null, data: { host: 'a' } },
  { type: 'HostDrainEnded', plugin: null, data: { host: 'a' } },
  { type: 'HostDrainRequested', plugin: null, data: { host: 'unknown' } },
]

/** Any facts at all: most are refused by the machine, which is part of the law. */
export const anyFact: fc.Arbitrary<Fact> = fc.oneof(
  fc.constantFrom(...pluginFactsOf(id), ...pluginFactsOf(other)),
  fc.constantFrom(...hostFactsOfAll),
)
