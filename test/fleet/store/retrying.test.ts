import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGracePeriod } from '../../../src/fleet/store/grace-period.ts'
import { retrying } from '../../../src/fleet/store/retrying.ts'
import { StoreRefusedError, StoreUnreachableError } from '../../../src/fleet/store/store-errors.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

/** Tries a task that fails with this error until it is told otherwise. `after`: tries so far, once so many ms are over. */
function trial(error: Error) {
  const clock = createManualClock()
  const state = { tries: 0, isAnswered: false }
  const outcome = retrying(clock, () => {
    state.tries += 1
    return state.isAnswered ? Promise.resolve('answered') : Promise.reject(error)
  })
  outcome.catch(() => undefined)
  return {
    state,
    outcome,
    async after(milliseconds: number): Promise<number> {
      for (let left = milliseconds; left > 0; left -= 100) {
        await new Promise(setImmediate)
        clock.advance(100)
      }
      await new Promise(setImmediate)
      return state.tries
    },
  }
}

test('what the store has not answered is asked again ten times a second, until it has', async () => {
  const { state, outcome, after } = trial(new StoreUnreachableError('no answer'))
  assert.deepEqual([await after(0), await after(1_000), await after(3_900)], [1, 11, 50])
  state.isAnswered = true
  assert.equal(await after(1_000), 51)
  assert.equal(await outcome, 'answered')
})

test('after five seconds it is given up, and what the store has refused at once', async () => {
  const silent = trial(new StoreUnreachableError('no answer'))
  assert.equal(await silent.after(10_000), 51)
  await assert.rejects(silent.outcome, /no answer/)
  const refused = trial(new StoreRefusedError('no'))
  assert.equal(await refused.after(1_000), 1)
  await assert.rejects(refused.outcome, StoreRefusedError)
})

test('what only one server may have missed is believed after fifteen seconds without a break', () => {
  const clock = createManualClock()
  const period = createGracePeriod(clock)
  const after = (milliseconds: number): boolean => {
    clock.advance(milliseconds)
    return period.isOver()
  }
  assert.deepEqual([after(60_000), after(14_999), after(1)], [false, false, true])
  period.reset()
  assert.deepEqual([after(60_000), after(15_000)], [false, true])
})
