import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDueTimer } from '../../../src/outside/discovery/due-timer.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

test('the call comes when the first thing is due, once, and not for things that are due at almost the same time', () => {
  const clock = createManualClock()
  const calls: number[] = []
  const set = createDueTimer(clock, (now) => calls.push(now))
  const after = (milliseconds: number): number[] => {
    clock.advance(milliseconds)
    return calls.splice(0)
  }
  set(1_000, 0)
  set(1_000, 0)
  assert.deepEqual([clock.waiting, after(999), after(1)], [1, [], [1_000]])
  set(1_000, 1_000)
  assert.deepEqual([after(19), after(1)], [[], [1_020]])
  set(5_000, 1_020)
  set(2_000, 1_020)
  set(Number.POSITIVE_INFINITY, 1_020)
  assert.equal(clock.waiting, 0)
  set(2_000, 1_020)
  assert.deepEqual([clock.waiting, after(10_000)], [1, [2_000]])
})
