import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSameCreation } from '../../../src/fleet/store/creation-time.ts'

test('a stream is the same one where servers of a cluster have heard of it milliseconds apart, and another one later', () => {
  const made = '2026-11-26T19:16:22.060161462Z'
  assert.ok(isSameCreation(made, made))
  // As three servers gave it for one stream that two hosts had asked for at once.
  assert.ok(isSameCreation(made, '2026-11-26T19:16:22.062409374Z'))
  assert.ok(!isSameCreation(made, '2026-11-26T19:16:42.062409374Z'))
  assert.ok(!isSameCreation(made, 'never'))
})
