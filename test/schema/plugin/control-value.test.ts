import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../../../src/base/text/json.ts'
import { controlValueFor } from '../../../src/schema/plugin/control-value.ts'

const typed: [type: string | undefined, value: Json, accepted: Json | undefined][] = [
  ['switch', 'ON', true],
  ['switch', ' off ', false],
  ['switch', 1, true],
  ['switch', 2, undefined],
  ['switch', 'maybe', undefined],
  ['boolean', false, false],
  ['binary', '0', false],
  ['number', 3, 3],
  ['dimmer', ' 40 ', 40],
  ['number', '0x10', undefined],
  ['number', '', undefined],
  ['integer', true, undefined],
  ['fan', null, undefined],
  ['text', 'ON', 'ON'],
  ['light', { state: 'ON' }, { state: 'ON' }],
  [undefined, 'anything', 'anything'],
]

test('A control of a known type takes what its type makes of a value, and refuses the rest', () => {
  const judged = typed.map(([type, value]) => {
    const accepted = controlValueFor(type === undefined ? {} : { type }, value)
    return [type, value, accepted.ok ? accepted.value : undefined]
  })
  assert.deepEqual(judged, typed)
})

const ranges: [range: string | undefined, value: Json, accepted: boolean][] = [
  ['0-100', 0, true],
  ['0-100', 100, true],
  ['0-100', 100.1, false],
  ['0-100', -1, false],
  ['-10-10', -10, true],
  ['-10--5', -7, true],
  ['-10--5', -4, false],
  ['0.5-1.5', 0.4, false],
  ['0-100', '50', true],
  ['0-100', '150', false],
  ['0-100', 'loud', false],
  ['0-100', null, false],
  ['0-100', true, true],
  ['0-100', { brightness: 3 }, true],
  [undefined, 1e9, true],
  ['whatever', 1e9, true],
]

test('A range refuses numbers outside it, and texts that are none', () => {
  const judged = ranges.map(([range, value]) => [
    range,
    value,
    controlValueFor(range === undefined ? {} : { range }, value).ok,
  ])
  assert.deepEqual(judged, ranges)
})

test('The refusal names the range, and repeats only the beginning of a long value', () => {
  assert.deepEqual(controlValueFor({ range: '0-100' }, 300), {
    ok: false,
    message: 'must be a number from 0 to 100',
    shown: '300',
  })
  const long = controlValueFor({ range: '0-100' }, 'x'.repeat(5_000))
  assert.ok(!long.ok && long.shown.length < 100)
})
