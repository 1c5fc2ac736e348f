import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTimeBudget } from '../../../src/outside/discovery/time-budget.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

test('strangers get an eighth of the time, and after a rest some of it at once', () => {
  const clock = createManualClock()
  const spend = createTimeBudget(clock, 1 / 8, 64)
  /** Whether something that takes so long is done. */
  function isDone(milliseconds: number): boolean {
    let wasBegun = false
    const isSpent = spend(() => {
      wasBegun = true
      clock.advance(milliseconds)
    })
    assert.equal(wasBegun, isSpent)
    return isSpent
  }
  assert.equal(isDone(32), true)
  // 36 ms are left, and 44 are missing then; the time in which that was done counts, too.
  assert.equal(isDone(80), true)
  assert.equal(isDone(1), false)
  clock.advance(34 * 8)
  assert.equal(isDone(1), false)
  clock.advance(1)
  assert.equal(isDone(1), true)
  clock.advance(1_000_000)
  assert.equal(isDone(128), true)
  assert.equal(isDone(1), false)
})
