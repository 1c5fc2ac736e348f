import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Exposure } from '../../../src/schema/plugin/exposure.ts'
import {
  featureName,
  inputOf,
  namesWithDevices,
  shownFeatures,
  stateText,
  unitOf,
} from '../../../src/web/plugin/exposed-feature.ts'
import { dateTimeOf } from '../../../src/web/base/words.ts'
import { exposed } from '../../helpers/exposed.ts'

const options = ['one', 'two']

/** The kind of widget for each, with what it is bound by. */
const cases: [exposure: Exposure, feature: string, input: unknown][] = [
  [exposed('switch'), 'state', 'switch'],
  [exposed('switch', { writable: [] }), 'state', undefined],
  [exposed('sensor'), 'value', undefined],
  [exposed('binary_sensor'), 'state', undefined],
  [exposed('number'), 'value', 'number'],
  [exposed('number', { min: 5 }), 'value', 'number'],
  [exposed('number', { min: 5, max: 30, step: 0.5 }), 'value', ['slider', 5, 30, 0.5]],
  [exposed('number', { min: 0, max: 1 }), 'value', ['slider', 0, 1, 0.01]],
  // Steps are counted from the lower bound: in ones the upper one could not be reached.
  [exposed('number', { min: 0.5, max: 10 }), 'value', ['slider', 0.5, 10, 0.1]],
  [exposed('number', { min: -1.25, max: 1 }), 'value', ['slider', -1.25, 1, 0.01]],
  [exposed('number', { min: 0.5, max: 200 }), 'value', 'number'],
  [exposed('number', { min: 0, max: 1_000_000, step: 1 }), 'value', 'number'],
  [exposed('select', { options }), 'value', ['choice', options]],
  [exposed('select'), 'value', 'text'],
  [exposed('text'), 'value', 'text'],
  [exposed('button'), 'press', ['buttons', ['Press']]],
  [exposed('light', { options }), 'state', 'switch'],
  [exposed('light', { options }), 'brightness', ['slider', 0, 255, 1]],
  [exposed('light', { options, max: 100 }), 'brightness', ['slider', 0, 100, 1]],
  [exposed('light', { options }), 'color_temp', 'number'],
  [exposed('light', { options }), 'color', 'colour'],
  [exposed('light', { options }), 'effect', ['choice', options]],
  [exposed('climate', { options, min: 5, max: 30 }), 'target_temperature', ['slider', 5, 30, 1]],
  [exposed('climate', { options }), 'current_temperature', undefined],
  [exposed('climate', { options }), 'mode', ['choice', options]],
  [exposed('climate', { options }), 'fan_mode', 'text'],
  [exposed('cover'), 'state', ['buttons', ['Open', 'Stop', 'Close']]],
  [exposed('cover'), 'position', ['slider', 0, 100, 1]],
  [exposed('fan', { options }), 'speed', ['slider', 0, 100, 1]],
  [exposed('fan', { options, max: 3 }), 'speed', ['slider', 0, 3, 1]],
  [exposed('fan', { options }), 'oscillation', 'switch'],
  [exposed('fan', { options }), 'preset_mode', ['choice', options]],
  [exposed('siren'), 'volume', ['slider', 0, 1, 0.01]],
  [exposed('siren'), 'duration', 'number'],
  [exposed('humidifier', { step: 5 }), 'target_humidity', ['slider', 0, 100, 1]],
  [exposed('event'), 'event', undefined],
  [exposed('lock'), 'state', ['choice', ['lock', 'unlock', 'open']]],
  [exposed('lawn_mower', { features: ['activity'] }), 'command', ['buttons', ['Start', 'Pause', 'Dock']]],
  [exposed('update', { features: ['installed_version'] }), 'install', ['buttons', ['Install']]],
]

function described(exposure: Exposure, feature: string): unknown {
  const input = inputOf(exposure, feature)
  switch (input?.kind) {
    case 'slider':
      return [input.kind, input.min, input.max, input.step]
    case 'choice':
      return [input.kind, input.options]
    case 'buttons':
      return [input.kind, input.buttons.map(({ label }) => label)]
    default:
      return input?.kind
  }
}

for (const [exposure, feature, input] of cases) {
  const { min, max, step, options: values, writable } = exposure
  const given = JSON.stringify({ min, max, step, options: values, writable: writable.length })
  test(`${feature} of a ${exposure.component} with ${given} is set by ${JSON.stringify(input)}`, () => {
    assert.deepEqual(described(exposure, feature), input)
  })
}

test('a feature has a name for people, and a unit where one is known', () => {
  assert.equal(featureName('target_temperature'), 'Target temperature')
  assert.deepEqual(
    [
      unitOf(exposed('sensor', { unit: 'W' }), 'value'),
      unitOf(exposed('sensor'), 'value'),
      unitOf(exposed('climate'), 'current_temperature'),
      unitOf(exposed('cover'), 'position'),
      unitOf(exposed('light'), 'brightness'),
    ],
    ['W', '', '°C', '%', ''],
  )
})

test('a value is shown as people read it, and seconds since 1970 as the time that they are', () => {
  const at = 1_777_620_600
  assert.equal(stateText(exposed('sensor', { deviceClass: 'timestamp' }), at), dateTimeOf(at * 1_000))
  assert.deepEqual(
    [at, 0.1 + 0.2, 'on', true, false, null].map((value) => stateText(exposed('sensor'), value)),
    ['1777620600', '0.3', 'on', 'on', 'off', '–'],
  )
})

test('what belongs to a device is called by it, too, and one of its exposures says what that is', () => {
  const all = [
    { name: 'Online' },
    { name: 'Battery', device: { id: '0x1', name: 'Front door' } },
    { name: 'Contact', device: { id: '0x1' } },
    { name: 'Battery', device: { id: '0x2' } },
  ]
  assert.deepEqual(all.map(namesWithDevices(all)), [
    'Online',
    'Front door: Battery',
    'Front door: Contact',
    '0x2: Battery',
  ])
})

test('What can only be set is shown after what has a value', () => {
  const vacuum = exposed('vacuum', { features: ['state', 'fan_speed'] })
  assert.deepEqual(shownFeatures(vacuum), ['state', 'fan_speed', 'command'])
})
