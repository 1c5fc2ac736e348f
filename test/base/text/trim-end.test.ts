import assert from 'node:assert/strict'
import { test } from 'node:test'
import { trimEndOf } from '../../../src/base/text/trim-end.ts'

test('what is at the end is cut off, and nothing else', () => {
  const cases = [
    ['a///', '/', 'a'],
    ['//a//b', '/', '//a//b'],
    ['///', '/', ''],
    ['', '/', ''],
    ['1.500', '0', '1.5'],
  ]
  assert.deepEqual(
    cases.map(([text = '', character = '']) => [text, character, trimEndOf(text, character)]),
    cases,
  )
})
