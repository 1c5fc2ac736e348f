import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changedSettings } from '../../../src/web/base/changed-settings.ts'
import type { JournalEvent } from '../../../src/web/base/types.ts'

const plugin = '@house/heating'
const common = {
  id: '',
  at: '',
  revision: 0,
  by: 'http' as const,
  state: '',
  host: null,
  epoch: null,
}

/** Facts about one plugin, numbered from 1. */
function journalOf(...facts: [type: string, data: JournalEvent['data']][]): JournalEvent[] {
  return facts.map(([type, data], index) => ({ ...common, seq: index + 1, plugin, type, data }))
}

const configured = (config: object): [string, JournalEvent['data']] => ['PluginConfigured', { config }]
const labels: Readonly<Record<string, string>> = { target: 'Target temperature' }
const changesOf = (events: readonly JournalEvent[]) =>
  Object.fromEntries(changedSettings(events, (_plugin, key) => labels[key] ?? key))

test('each saved configuration says what it changed in the one before', () => {
  const events = journalOf(
    ['PluginInstalled', { version: '1.0.0' }],
    configured({ target: 21, room: 'hall' }),
    ['PluginLoaded', {}],
    configured({ target: 5, room: 'hall', rows: [{ a: 1 }], night: true }),
    configured({ target: 5, rows: [{ a: 'x'.repeat(100) }], night: true }),
    configured({ target: 5, rows: [{ a: 'x'.repeat(100) }], night: true }),
  )
  assert.deepEqual(changesOf(events), {
    2: 'Target temperature set to 21, room set to hall',
    4: 'Target temperature from 21 to 5, rows set to [{"a":1}], night set to true',
    5: 'room taken out, rows changed',
    6: 'nothing has changed',
  })
})

test('a secret is not shown, and may be what has changed where nothing else has', () => {
  const secret = '********'
  const events = journalOf(
    ['PluginInstalled', { version: '1.0.0' }],
    configured({ apiKey: secret }),
    configured({ apiKey: secret }),
    configured({ apiKey: '' }),
  )
  assert.deepEqual(changesOf(events), {
    2: 'apiKey set',
    3: 'nothing but secrets can have changed',
    4: 'apiKey taken out',
  })
})

test('nothing is said where the settings before are not known', () => {
  const events = journalOf(
    configured({ target: 1 }),
    configured({ target: 2 }),
    ['PluginRolledBack', { reason: 'asked for' }],
    configured({ target: 3 }),
  )
  assert.deepEqual(changesOf(events), { 2: 'Target temperature from 1 to 2' })
})
