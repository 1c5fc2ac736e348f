import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serializedJson, serializeJson } from '../../../src/base/text/serialized-json.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

test('a value is parsed when somebody asks, and once', () => {
  const value = serializedJson(bytes('{"a":[1,"ü"]}'))
  assert.deepEqual(value.value(), { a: [1, 'ü'] })
  assert.equal(value.value(), value.value())
})

test('bytes that are no JSON, and what is nested too deep to be written again, are null', () => {
  const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`
  assert.deepEqual(
    ['', '{', 'undefined', '\u0000', nested(129), nested(100_000)].map((text) =>
      serializedJson(bytes(text)).value(),
    ),
    [null, null, null, null, null, null],
  )
  assert.notEqual(serializedJson(bytes(nested(100))).value(), null)
})

test('a value of the host has its text at hand', () => {
  const value = { at: 1, no: undefined }
  const serialized = serializeJson(value)
  assert.deepEqual([Buffer.from(serialized.bytes).toString(), serialized.value()], ['{"at":1}', value])
  assert.deepEqual([...serializeJson(null).bytes], [...bytes('null')])
})
