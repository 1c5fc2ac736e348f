import assert from 'node:assert/strict'
import { test } from 'node:test'
import { host } from '../../../machines/host.ts'
import { hostFacts, pluginFacts } from '../../../src/schema/journal/journal-event.ts'
import { pluginStates } from '../../../src/schema/plugin/plugin.ts'
import { absenceInWords, placementInWords } from '../../../src/web/base/fleet-words.ts'
import type { JournalEvent } from '../../../src/web/base/types.ts'
import {
  dateTimeOf,
  detailOf,
  eventInWords,
  readableText,
  stateInWords,
  timeOf,
} from '../../../src/web/base/words.ts'

test('each fact that can be in the journal is called by plain words', () => {
  const types = [...Object.keys(pluginFacts), ...Object.keys(hostFacts)]
  assert.deepEqual(
    types.filter((type) => eventInWords(type) === type),
    [],
  )
})

test('each state of a plugin and of the host is called by plain words', () => {
  const states = [...pluginStates, ...Object.keys(host.states)]
  assert.deepEqual(
    states.filter((state) => stateInWords(state) === state),
    [],
  )
})

test('a fraction has as many digits as tell something, and every other value is as it is', () => {
  const values = [
    0.1 + 0.2,
    100 / 3,
    230.10000610351562,
    -0.5,
    2 ** 53 - 1,
    1e-7,
    '0.30000000000000004',
    null,
    true,
  ]
  const shown = ['0.3', '33.33333333', '230.1000061', '-0.5', '9007199254740991', '1e-7']
  assert.deepEqual(values.map(readableText), [...shown, '0.30000000000000004', '–', 'true'])
})

test('midnight is 0 o’clock, also where the language is American English', () => {
  const soonAfter = new Date(2026, 0, 1, 0, 5, 7).getTime()
  for (const words of [timeOf(soonAfter), dateTimeOf(soonAfter)]) {
    assert.match(words, /07/)
    assert.doesNotMatch(words, /24/)
  }
})

const placements: [placement: Parameters<typeof placementInWords>[0], words: string][] = [
  [{}, 'on any host'],
  [{ labels: [] }, 'on any host'],
  [{ host: 'attic' }, 'only on attic'],
  [{ labels: ['serial'] }, 'only on hosts with serial'],
  [{ labels: ['serial', 'camera', 'gpu'] }, 'only on hosts with serial, camera, and gpu'],
  [{ host: 'attic', labels: ['serial'] }, 'only on attic, while it has serial'],
]

for (const [placement, words] of placements)
  test(`where a plugin may run: ${words}`, () => {
    assert.equal(placementInWords(placement), words)
  })

const details: [type: string, data: JournalEvent['data'], detail: string][] = [
  ['PluginUpdated', { version: '2.0.0' }, 'version 2.0.0'],
  ['PluginUpdated', { version: '2.0.0', from: '1.0.0' }, 'from version 1.0.0 to 2.0.0'],
  ['PluginRolledBack', { reason: 'asked for' }, 'because of: asked for'],
  [
    'PluginRolledBack',
    { reason: 'asked for', version: '1.0.0', from: '2.0.0' },
    'from version 2.0.0 to 1.0.0, because of: asked for',
  ],
  [
    'PluginMoved',
    { from: null, to: 'attic', epoch: 1, reason: 'it was installed' },
    'to attic, epoch 1: it was installed',
  ],
  [
    'PluginMoved',
    { from: 'attic', to: 'cellar', epoch: 2, reason: 'attic is being drained' },
    'from attic to cellar, epoch 2: attic is being drained',
  ],
  [
    'PluginMoved',
    { from: 'attic', to: 'attic', epoch: 3, reason: 'its host is back' },
    'again on attic, epoch 3: its host is back',
  ],
  ['PluginPlaced', { placement: { host: 'attic' } }, 'it runs only on attic'],
  [
    'HostJoined',
    { host: 'attic', hostVersion: '1.0.0', address: 'http://attic', labels: ['serial', 'gpu'] },
    'attic, version 1.0.0, with serial and gpu',
  ],
  [
    'HostJoined',
    { host: 'attic', hostVersion: '1.0.0', address: 'http://attic', labels: [] },
    'attic, version 1.0.0',
  ],
  ['HostDrainRequested', { host: 'attic' }, 'attic'],
  ['HostDrainEnded', { host: 'attic' }, 'attic'],
  ['RepositoryRemoved', { name: 'r' }, 'r'],
]

for (const [type, data, detail] of details)
  test(`what came with ${type}: ${detail}`, () => {
    const event = {
      seq: 1,
      id: '',
      at: '',
      plugin: null,
      revision: 0,
      by: 'http' as const,
      state: '',
      host: null,
      epoch: null,
    }
    assert.equal(detailOf({ ...event, type, data }), detail)
  })

test('a plugin without a host is told apart from one that is off, or failed', () => {
  const error = (code: string) => ({ code, message: '', at: '' })
  assert.match(absenceInWords({ enabled: true, error: error('no_host') }), /^No live host /)
  assert.match(absenceInWords({ enabled: true, error: error('lease_lost') }), /lost touch/)
  assert.equal(absenceInWords({ enabled: false, error: error('no_host') }), '')
  assert.equal(absenceInWords({ enabled: true, error: error('lua_error') }), '')
  assert.equal(absenceInWords({ enabled: true, error: null }), '')
})
