import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../../../src/base/text/json.ts'
import { Problem } from '../../../src/base/problem.ts'
import { checkExposedControl, checkExposedValue } from '../../../src/lifecycle/commands/exposed-value.ts'
import { exposedValueFromText } from '../../../src/mqtt-api/value-from-text.ts'
import type { Exposure } from '../../../src/schema/plugin/exposure.ts'
import { exposed } from '../../helpers/exposed.ts'

/** What the plugin gets of a message, or the code of the refusal. */
function taken(exposure: Exposure, feature: string, text: string): Json {
  try {
    return checkExposedValue(exposure, feature, exposedValueFromText(text, exposure, feature))
  } catch (error) {
    if (error instanceof Problem) return { refused: error.code }
    throw error
  }
}

const invalid = { refused: 'control_value_invalid' }
const unknown = { refused: 'control_unknown' }

const messages: [exposure: Exposure, feature: string, text: string, value: Json][] = [
  ...(['ON', 'on', 'true', '1', '"ON"'] as const).map((text): (typeof messages)[number] => [
    exposed('switch'),
    'state',
    text,
    true,
  ]),
  ...(['OFF', 'off', 'false', '0'] as const).map((text): (typeof messages)[number] => [
    exposed('light'),
    'state',
    text,
    false,
  ]),
  [exposed('switch'), 'state', 'maybe', invalid],
  [exposed('switch'), 'state', '', invalid],
  [exposed('switch'), 'state', '{}', invalid],
  [exposed('number', { min: 0, max: 10 }), 'value', '7.5', 7.5],
  [exposed('number', { min: 0, max: 10 }), 'value', '"7"', 7],
  [exposed('number', { min: 0, max: 10 }), 'value', '10', 10],
  [exposed('number', { min: 0, max: 10 }), 'value', '10.1', invalid],
  [exposed('number', { min: 0, max: 10 }), 'value', '-1', invalid],
  [exposed('number'), 'value', '-1e6', -1_000_000],
  [exposed('number'), 'value', 'much', invalid],
  [exposed('number'), 'value', '', invalid],
  [exposed('number'), 'value', 'true', invalid],
  [exposed('number'), 'value', 'null', invalid],
  [exposed('number'), 'value', '1e999', invalid],
  [exposed('number'), 'value', '0x10', invalid],
  [exposed('number'), 'value', '"0b1"', invalid],
  [exposed('light'), 'brightness', '255', 255],
  [exposed('light'), 'brightness', '256', invalid],
  [exposed('light', { max: 100 }), 'brightness', '101', invalid],
  [exposed('light'), 'color_temp', '370', 370],
  [exposed('light'), 'color', '255,0,10', '255,0,10'],
  [exposed('fan'), 'speed', '100', 100],
  [exposed('fan', { max: 3 }), 'speed', '4', invalid],
  [exposed('fan'), 'oscillation', 'ON', true],
  [exposed('climate', { min: 5, max: 30 }), 'target_temperature', '21.5', 21.5],
  [exposed('climate', { min: 5, max: 30 }), 'target_temperature', '31', invalid],
  [exposed('climate', { options: ['off', 'heat'] }), 'mode', 'heat', 'heat'],
  [exposed('climate', { options: ['off', 'heat'] }), 'mode', 'dry', invalid],
  [exposed('climate'), 'current_temperature', '20', unknown],
  [exposed('cover'), 'state', 'OPEN', 'open'],
  [exposed('cover'), 'state', 'STOP', 'stop'],
  [exposed('cover'), 'state', 'half', invalid],
  [exposed('cover', { min: 50 }), 'position', '20', 20],
  [exposed('cover'), 'position', '101', invalid],
  [exposed('select', { options: ['1', '2'] }), 'value', '2', '2'],
  [exposed('select', { options: ['1', '2'] }), 'value', '3', invalid],
  [exposed('select'), 'value', 'anything', 'anything'],
  [exposed('text'), 'value', '{"a": 1}', '{"a": 1}'],
  [exposed('text', { min: 2, max: 3 }), 'value', 'abcd', invalid],
  [exposed('text', { min: 2, max: 3 }), 'value', 'a', invalid],
  [exposed('text'), 'value', '', ''],
  [exposed('button'), 'press', 'PRESS', true],
  [exposed('lock'), 'state', 'UNLOCK', 'unlock'],
  [exposed('lock'), 'state', 'break', invalid],
  [exposed('alarm_control_panel'), 'state', 'arm_away', 'arm_away'],
  [exposed('vacuum'), 'command', 'return_to_base', 'return_to_base'],
  [exposed('vacuum', { fanSpeeds: ['low'] }), 'fan_speed', 'high', invalid],
  [exposed('vacuum'), 'state', 'docked', unknown],
  [exposed('valve'), 'position', '101', invalid],
  [exposed('humidifier'), 'target_humidity', '55', 55],
  [exposed('siren'), 'state', 'OFF', false],
  [
    exposed('siren', { tones: ['bell'] }),
    'state',
    '{"state": "ON", "tone": "bell", "volume_level": 0.5, "duration": 3}',
    { tone: 'bell', duration: 3, volume: 0.5, state: true },
  ],
  [exposed('siren', { tones: ['bell'] }), 'state', '{"state": "ON", "tone": "horn"}', invalid],
  [exposed('siren'), 'state', '{"tone": "bell"}', invalid],
  [exposed('lawn_mower'), 'command', 'dock', 'dock'],
  [exposed('update'), 'install', 'install', true],
  [exposed('date'), 'value', '2026-05-01', '2026-05-01'],
  [exposed('notify'), 'message', 'Hello', 'Hello'],
  [exposed('climate', { presets: ['eco'] }), 'preset_mode', 'party', invalid],
  [exposed('climate', { presets: ['eco'] }), 'preset_mode', 'none', 'none'],
  [exposed('climate', { fanModes: ['low'] }), 'fan_mode', 'none', invalid],
  [exposed('climate', { max: 30 }), 'target_temperature_high', '31', invalid],
  [exposed('image'), 'url', 'http://x/', unknown],
  [exposed('sensor'), 'value', '1', unknown],
  [exposed('event'), 'event', 'x', unknown],
  [exposed('switch', { writable: [] }), 'state', 'ON', unknown],
  [exposed('switch'), 'toString', 'ON', unknown],
]

test('A message to an exposed feature becomes what the feature is of, or is refused before Lua is called', () => {
  assert.deepEqual(
    messages.map(([exposure, feature, text]) => [
      exposure.component,
      feature,
      text,
      taken(exposure, feature, text),
    ]),
    messages.map(([exposure, feature, text, value]) => [exposure.component, feature, text, value]),
  )
})

test('A control behind an exposure takes what the exposure takes, and what it knows nothing about as it is', () => {
  const rows: [Exposure, Json, Json][] = [
    [exposed('switch'), 'ON', true],
    [exposed('number', { max: 10 }), '3', 3],
    [exposed('fan'), 30, 30],
    [exposed('fan'), true, true],
    [exposed('light'), { state: true }, { state: true }],
    [exposed('sensor'), 'x', 'x'],
  ]
  assert.deepEqual(
    rows.map(([exposure, value]) => checkExposedControl(exposure, value)),
    rows.map(([, , value]) => value),
  )
  assert.throws(() => checkExposedControl(exposed('number', { max: 10 }), 11), {
    code: 'control_value_invalid',
  })
  assert.throws(() => checkExposedControl(exposed('fan', { max: 3 }), 4), { code: 'control_value_invalid' })
  // As JSON reads 1e999.
  assert.throws(() => checkExposedControl(exposed('number'), Infinity), { code: 'control_value_invalid' })
})

test('Who sets a preset that there is not is told of the one that needs no listing, too, and of each once', () => {
  for (const presets of [['eco'], ['eco', 'none']])
    assert.throws(() => checkExposedValue(exposed('climate', { presets }), 'preset_mode', 'party'), {
      message: 'The value must be one of eco, none, not "party".',
    })
})
