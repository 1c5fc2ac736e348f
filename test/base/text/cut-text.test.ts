import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { cutText, cutTexts, messageBytesLimit, quoted } from '../../../src/base/text/cut-text.ts'

test('a long text is cut, and says how large it was', () => {
  const cut = cutText('x'.repeat(8_000_000))
  assert.equal(Buffer.byteLength(cut), messageBytesLimit)
  assert.match(cut, /^x+… \(8,000,000 bytes\)$/)
  assert.equal(cutText('é'.repeat(20), 30), `${'é'.repeat(8)}… (40 bytes)`)
  assert.equal(cutText('short'), 'short')
})

test('a text that is only the beginning of another says how large that was, though it is short itself', () => {
  assert.equal(cutText('abc', 30, 'abc'.repeat(20)), 'abc… (60 bytes)')
  assert.equal(cutText('abc', 30, 'abcd'), 'abc')
})

test('each text in a value is cut, and what is no text stays what it is', () => {
  const long = 'x'.repeat(40)
  const cut = `${'x'.repeat(16)}… (40 bytes)`
  const at = new Date(0)
  assert.deepEqual(
    cutTexts({ a: long, b: [long, 7, { c: long, d: null }], at, e: undefined, f: 'short' }, 30),
    {
      a: cut,
      b: [cut, 7, { c: cut, d: null }],
      at,
      e: undefined,
      f: 'short',
    },
  )
})

test('what somebody asked for is quoted as it is, and cut where it would fill the sentence', () => {
  assert.equal(quoted('a "lamp"'), '"a \\"lamp\\""')
  assert.match(quoted('x'.repeat(20_000)), /^"x{100,200}… \(20,000 bytes\)"$/)
})

const anyCharacter = fc.string({ unit: 'binary', minLength: 1, maxLength: 1 })

test('what is cut fits, begins as the text did, ends between two characters, and is not cut again', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.oneof(fc.constant('\u{feff}'), anyCharacter), maxLength: 200, size: 'max' }),
      fc.integer({ min: 40, max: 300 }),
      (text, limit) => {
        const cut = cutText(text, limit)
        assert.ok(Buffer.byteLength(cut) <= limit)
        assert.equal(cutText(cut, limit), cut)
        if (Buffer.byteLength(text) <= limit) assert.equal(cut, text)
        else assert.ok(text.startsWith(cut.replace(/… \([\d,]+ bytes\)$/, '')))
      },
    ),
  )
})
