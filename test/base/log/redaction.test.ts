import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createRedactor, maskValue } from '../../../src/base/log/redaction.ts'

test('§3 a long value shows its first five characters, a short one nothing', () => {
  assert.deepEqual(['0123456789', 'abc', ''].map(maskValue), ['01234***', '***', '***'])
})

test('§3 credentials in a URL are hidden', () => {
  const { redact } = createRedactor([])
  assert.equal(
    redact('GET http://admin:s3cret@10.0.0.1/a and mqtt://u:p@h, not http://host:80/a@b'),
    'GET http://***@10.0.0.1/a and mqtt://***@h, not http://host:80/a@b',
  )
})

test('§3 a secret is found nowhere in a line, also percent-encoded and within JSON', () => {
  const secret = fc
    .string({ minLength: 3, maxLength: 20 })
    .filter((text) => !'***'.includes(text) && !text.includes('*'))
  fc.assert(
    fc.property(fc.string(), secret, fc.string(), (before, hidden, after) => {
      const { redact } = createRedactor([hidden])
      assert.ok(!redact(before + hidden + after).includes(hidden))
    }),
  )
  const { redact } = createRedactor(['pa ss"word'])
  assert.equal(redact('q=pa%20ss%22word {"a":"pa ss\\"word"}'), 'q=*** {"a":"***"}')
})

test('§3 the longer of two secrets goes first, so that no end of it is left', () => {
  const { redact } = createRedactor(['abcd', 'abcdefgh'])
  assert.equal(redact('abcdefgh abcd'), '*** ***')
})

test('§3 a long word costs no time worth telling', () => {
  const { redact } = createRedactor([])
  const word = 'a'.repeat(100_000)
  assert.equal(redact(word), word)
})

test('§3 a secret that is learned is hidden from then on, and those of the configuration for ever', () => {
  const { redact, hide, secrets } = createRedactor(['configured', '1', ''])
  for (const one of ['configured', '2', '']) hide(one)
  for (let index = 0; index < 1_000; index += 1) hide(`learned-${index}-end`)
  assert.equal(redact('configured learned-999-end'), '*** ***')
  assert.deepEqual([...secrets].slice(0, 3), ['configured', '1', 'learned-800-end'])
})
