import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { jsonText } from '../../../src/base/text/json.ts'

const largeInteger = fc.bigInt(-(2n ** 69n), 2n ** 69n).map(Number)
const value = fc.jsonValue({ noUnicodeString: false })

test('JSON of values without large integers is that of JavaScript', () => {
  fc.assert(
    fc.property(value, (json) =>
      assert.deepEqual(JSON.parse(jsonText(json)), JSON.parse(JSON.stringify(json))),
    ),
  )
  for (const plain of [0.1 + 0.2, 1e21, -1.2345678901234567e25, 9007199254740991, null, 'x', undefined])
    assert.equal(jsonText(plain), JSON.stringify(plain))
})

test('an integer beyond 2^53 is written with its own digits, wherever it is, and read as the same', () => {
  assert.equal(
    jsonText({ at: 2 ** 60, list: [-(2 ** 62)] }),
    '{"at":1152921504606846976,"list":[-4611686018427387904]}',
  )
  fc.assert(
    fc.property(largeInteger, (large) => {
      assert.equal(jsonText([large]), `[${BigInt(large)}]`)
      assert.deepEqual(JSON.parse(jsonText([large])), [large])
    }),
  )
})

test('digits in texts and in names stay as they are', () => {
  const digits = '"\\1152921504606847000"'
  const text = { [digits]: digits, other: `\\"${digits}\\` }
  assert.equal(jsonText(text), JSON.stringify(text))
  assert.deepEqual(JSON.parse(jsonText({ ...text, large: 2 ** 60 })), { ...text, large: 2 ** 60 })
  fc.assert(
    fc.property(fc.string(), largeInteger, (words, large) => {
      const given = { [words]: [digits + words, large, words + digits] }
      assert.deepEqual(JSON.parse(jsonText(given)), given)
    }),
  )
})
