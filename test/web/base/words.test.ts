import assert from 'node:assert/strict'
import { test } from 'node:test'
import { host } from '../../../machines/host.ts'
import { hostFacts, pluginFacts } from '../../../src/schema/journal/journal-event.ts'
import { pluginStates } from '../../../src/schema/plugin/plugin.ts'
import { absenceInWords, placementInWords } from '../../../src/web/base/fleet-words.ts'
import {
  compareText,
  dateTimeOf,
  eventInWords,
  readableText,
  stateInWords,
  timeOf,
  waitInWords,
} from '../../../src/web/base/words.ts'

test('each fact that can be in the journal is called by plain words', () => {
  const types = [...Object.keys(pluginFacts), ...Object.keys(hostFacts)]
  assert.deepEqual(
    types.filter((type) => eventInWords(type) === type),
    [],
  )
})

test('names with numbers in them stand in the order in which people count', () => {
  assert.deepEqual(['Room 10', 'Room 2', 'Ätrium', 'Attic', 'Room 1'].sort(compareText).slice(-3), [
    'Room 1',
    'Room 2',
    'Room 10',
  ])
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

test('how long something waits is told in the unit in which people count it', () => {
  const waits = [0, 1_234, 80_000, 119_900, 120_000, 160_000, 3_600_000, 7_100_000, 10_240_000, 21_600_000]
  assert.deepEqual(waits.map(waitInWords), [
    ...['0.0 seconds', '1.2 seconds', '80.0 seconds', '119.9 seconds'],
    ...['2 minutes', '3 minutes', '60 minutes', '118 minutes', '2.8 hours', '6.0 hours'],
  ])
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

test('a plugin without a host is told apart from one that is off, or failed', () => {
  const error = (code: string) => ({ code, message: '', at: '' })
  assert.match(absenceInWords({ enabled: true, error: error('no_host') }), /^No live host /)
  assert.match(absenceInWords({ enabled: true, error: error('lease_lost') }), /lost touch/)
  assert.equal(absenceInWords({ enabled: false, error: error('no_host') }), '')
  assert.equal(absenceInWords({ enabled: true, error: error('lua_error') }), '')
  assert.equal(absenceInWords({ enabled: true, error: null }), '')
})
