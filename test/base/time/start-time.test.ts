import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createStartTime } from '../../../src/base/time/start-time.ts'

const hour = 3_600_000

test('when something began stays the same, and moves along when the clock is set', () => {
  let elapsed = 500
  let now = 1_000_000 * hour
  const start = createStartTime({ now: () => now }, () => elapsed)
  const begun = now
  const goOn = (milliseconds: number, jitter = 0): void => {
    elapsed += milliseconds
    now += milliseconds + jitter
  }
  assert.equal(start(), begun)
  for (const jitter of [3, -5, 900, -1_200]) {
    goOn(hour, jitter)
    assert.equal(start(), begun)
  }
  const off = now - begun - 4 * hour
  goOn(hour)
  now += 500_000 * hour
  assert.equal(start(), begun + off + 500_000 * hour)
  goOn(hour, 20)
  assert.equal(start(), begun + off + 500_000 * hour)
  now -= 500_000 * hour
  goOn(hour)
  assert.equal(start(), begun + off + 20)
})
