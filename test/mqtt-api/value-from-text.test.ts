import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../../src/base/text/json.ts'
import { controlValueFromText } from '../../src/mqtt-api/value-from-text.ts'

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

test('of JSON without end no more is read than anybody sets; text is text, however much it looks like it', () => {
  const parts = (count: number): string => `[${Array<string>(count).fill('[]').join()}]`
  assert.equal((controlValueFromText(parts(9_000), undefined) as unknown[]).length, 9_000)
  for (const endless of [parts(200_000), '['.repeat(200_000), JSON.stringify({ a: Array(30_000).fill(0) })])
    for (const type of [undefined, 'switch', 'number', 'light'])
      assert.throws(() => controlValueFromText(endless, type), { code: 'body_invalid' })
  assert.equal(controlValueFromText(parts(200_000), 'text'), parts(200_000))
  for (const text of [',["'.repeat(100_000), `say "${','.repeat(100_000)}"`])
    assert.equal(controlValueFromText(text, undefined), text)
  assert.equal(controlValueFromText(JSON.stringify(','.repeat(100_000)), undefined), ','.repeat(100_000))
})
