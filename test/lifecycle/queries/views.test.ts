import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withoutCredentials } from '../../../src/lifecycle/secrets/secrets.ts'
import { eventView, pluginView, statusView } from '../../../src/lifecycle/queries/views.ts'
import { initialPlugin, initialState } from '../../../src/journal/fold/evolve.ts'
import { ownsAll } from '../../../src/lifecycle/ownership.ts'
import type { JournalEvent } from '../../../src/schema/journal/journal-event.ts'
import type { Manifest } from '../../../src/schema/manifest/manifest.ts'
import { noResources } from '../../../src/schema/plugin/plugin.ts'
import { defaultPluginLimits } from '../../../src/schema/plugin/plugin-limits.ts'

const nowhere = ownsAll.whereabouts('@a/b')
const envelope = { seq: 1, id: 'x', at: '', by: 'http', revision: 0, state: 'ready' } as const

test('an address is shown without user, password and query, and otherwise as it is', () => {
  const cases = [
    ['https://me:pw@example.org/a?b=c@d', 'https://example.org/a'],
    ['https://example.org/a/?token=secret', 'https://example.org/a/'],
    ['HTTPS://example.org?\ntoken=secret\n#token', 'HTTPS://example.org'],
    // A URL takes any number of slashes for two.
    ['https:///me:pw@example.org/', 'https:///example.org/'],
    ['https://\\me:pw@example.org/', 'https://\\example.org/'],
    ['/data/what?/#1', '/data/what?/#1'],
    ['https://token@example.org', 'https://example.org'],
    ['https://a@b:c@example.org/x', 'https://example.org/x'],
    ['https://example.org/@scope/x', 'https://example.org/@scope/x'],
    ['./repository', './repository'],
    ['/data/me:you@home', '/data/me:you@home'],
  ]
  assert.deepEqual(
    cases.map(([address = '']) => withoutCredentials(address)),
    cases.map(([, shown]) => shown),
  )
})

const known = { journal: { live: initialState() }, manifests: { knownFields: () => undefined } }

test('an added repository is shown in the history without its password and its query', () => {
  const event: JournalEvent = {
    ...envelope,
    type: 'RepositoryAdded',
    plugin: null,
    data: { name: 'r', url: 'https://me:canary@example.org/?token=canary' },
  }
  const shown = eventView(event, known)
  assert.deepEqual(shown.data, { name: 'r', url: 'https://example.org/' })
})

test('without a manifest every text and number of a configuration is hidden, and the request key always', () => {
  const event: JournalEvent = {
    ...envelope,
    type: 'PluginConfigured',
    plugin: '@a/b',
    requestKey: 'canary',
    data: { config: { name: 'canary', port: 1, nested: { deep: 'canary' }, on: true } },
  }
  const shown = eventView(event, known)
  assert.deepEqual(shown.data, {
    config: { name: '********', port: '********', nested: '********', on: true },
  })
  assert.ok(!JSON.stringify(shown).includes('canary'))
})

test('the status of a plugin is what its whole view says', () => {
  const fresh = initialPlugin('@a/b')
  const error = { code: 'lua_error', message: 'no', at: '2026-01-01T00:00:00.000Z' }
  const failed = {
    ...fresh,
    value: 'failed' as const,
    context: { ...fresh.context, enabled: true, version: '2.0.0', error },
  }
  const found = [undefined, { id: 'b', name: 'B', version: '1.0.0' } as Manifest].flatMap((manifest) =>
    [fresh, failed].map((snapshot) => {
      const { state, enabled, version, error, host, epoch } = pluginView(snapshot, {
        ...{
          manifest,
          fields: [],
          secrets: undefined,
          environment: { read: [], refused: [] },
          isolation: undefined,
        },
        ...{ resources: noResources, limits: defaultPluginLimits, whereabouts: nowhere },
      })
      const status = statusView(snapshot, manifest, nowhere)
      assert.deepEqual(status, { state, enabled, version, error, host, epoch })
      return `${status.state} ${status.version}`
    }),
  )
  assert.deepEqual(found, ['notInstalled ', 'failed 2.0.0', 'notInstalled 1.0.0', 'failed 2.0.0'])
})

test('what no host of the fleet runs, although one should, is shown as unloaded, with the reason', () => {
  const fresh = initialPlugin('@a/b')
  const absence = { code: 'no_host', message: 'none', at: '2026-01-01T00:00:00.000Z' }
  const shown = (['running', 'failed', 'installed', 'unloaded'] as const).map((value) =>
    [true, false].map((enabled) => {
      const snapshot = { ...fresh, value, context: { ...fresh.context, enabled } }
      const { state, error } = statusView(snapshot, undefined, { ...nowhere, absence })
      return `${state} ${error?.code}`
    }),
  )
  assert.deepEqual(shown, [
    ['unloaded no_host', 'running undefined'],
    ['failed not_loaded', 'failed not_loaded'],
    ['installed undefined', 'installed undefined'],
    ['unloaded no_host', 'unloaded undefined'],
  ])
})
