import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { cutText, messageBytesLimit, quoted } from '../../../src/base/text/cut-text.ts'

test('a long text is cut, and says how large it was', () => {
  const cut = cutText('x'.repeat(8_000_000))
  assert.equal(Buffer.byteLength(cut), messageBytesLimit)
  assert.match(cut, /^x+… \(8,000,000 bytes\)$/)
  assert.equal(cutText('é'.repeat(20), 30), `${'é'.repeat(8)}… (40 bytes)`)
  assert.equal(cutText('short'), 'short')
})

test('what somebody asked for is quoted as it is, and cut where it would fill the sentence', () => {
  assert.equal(quoted('a "lamp"'), '"a \\"lamp\\""')
  assert.match(quoted('x'.repeat(20_000)), /^"x{100,200}… \(20,000 bytes\)"$/)
})

test('what is cut fits, begins as the text did, ends between two characters, and is not cut again', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 200 }),
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
