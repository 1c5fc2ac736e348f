import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backOffDelay } from '../../../src/base/time/back-off.ts'

test('the wait for another attempt doubles up to its bound, and chance takes up to half of it away', () => {
  const rule = { min: 1_000, max: 60_000 }
  const cases: [attempt: number, random: number, expected: number][] = [
    [0, 0, 1_000],
    [0, 0.5, 750],
    [1, 0, 2_000],
    [5, 0, 32_000],
    [6, 0, 60_000],
    [1_000_000, 0, 60_000],
    [1_000_000, 1, 30_000],
  ]
  for (const [attempt, random, expected] of cases)
    assert.equal(backOffDelay(rule, attempt, random), expected, `${attempt} ${random}`)
  assert.equal(backOffDelay({ min: 500, max: 100 }, 3, 0), 500)
})
