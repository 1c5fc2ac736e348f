import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../../src/base/json.ts'
import { Problem } from '../../src/base/problem.ts'
import { checkControlValue, controlValueFromText } from '../../src/lifecycle/control-value.ts'

const texts: [text: string, type: string | undefined, value: Json][] = [
  ['ON', 'switch', true],
  ['off', 'switch', false],
  ['1', 'switch', true],
  ['0', 'boolean', false],
  ['true', 'boolean', true],
  [' False ', 'boolean', false],
  ['maybe', 'switch', 'maybe'],
  ['21.5', 'number', 21.5],
  [' 40 ', 'dimmer', 40],
  ['-3e2', 'fan', -300],
  ['+7', 'number', 7],
  ['.5', 'number', 0.5],
  ['abc', 'number', 'abc'],
  ['0x10', 'number', '0x10'],
  ['', 'number', ''],
  ['21', 'text', '21'],
  ['"21"', 'text', '21'],
  ['true', 'select', 'true'],
  ['warm white', 'text', 'warm white'],
  ['21', undefined, 21],
  ['"ON"', undefined, 'ON'],
  ['ON', undefined, 'ON'],
  ['true', 'light', true],
  ['{"state":"ON"}', 'light', { state: 'ON' }],
  ['[1,2]', undefined, [1, 2]],
  ['{"broken"', undefined, '{"broken"'],
  ['null', undefined, null],
  ['', undefined, ''],
]

test('A text means to a control what its type makes of it', () => {
  assert.deepEqual(
    texts.map(([text, type]) => [text, type, controlValueFromText(text, type)]),
    texts,
  )
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
  const judged = ranges.map(([range, value]) => {
    try {
      checkControlValue(range, value)
      return [range, value, true]
    } catch (error) {
      assert.ok(error instanceof Problem)
      assert.equal(error.code, 'control_value_invalid')
      return [range, value, false]
    }
  })
  assert.deepEqual(judged, ranges)
})

test('The refusal names the range, and repeats only the beginning of a long value', () => {
  assert.throws(() => checkControlValue('0-100', 300), {
    message: 'The value must be a number from 0 to 100, not 300.',
    errors: [{ path: '/value', message: 'must be a number from 0 to 100' }],
  })
  assert.throws(
    () => checkControlValue('0-100', 'x'.repeat(5_000)),
    (error: Error) => error.message.length < 150,
  )
})
