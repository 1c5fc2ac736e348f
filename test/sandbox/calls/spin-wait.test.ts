import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  createSpinWait,
  sleepsAfterFailure,
  spinTime,
} from '../../../src/sandbox/worker/questions/spin-wait.ts'

/** What a wait does before its thread goes to sleep. */

function stage() {
  let now = 0
  let looks = 0
  const watch = createSpinWait(() => (now += spinTime / 4))
  return {
    /** Over when it has been looked for so often. */
    wait: (after: number): boolean => {
      looks = 0
      return watch(() => (looks += 1) > after)
    },
    looks: () => looks,
  }
}

test('a wait that is over soon does not sleep, however often', () => {
  const { wait } = stage()
  for (let time = 0; time < 100; time += 1) assert.equal(wait(40), true)
})

test('after one that takes long the next ones sleep at once, and then it is tried again', () => {
  const { wait, looks } = stage()
  assert.equal(wait(1e6), false)
  assert.ok(looks() > 0 && looks() < 1e6)
  for (let time = 0; time < sleepsAfterFailure; time += 1) {
    assert.equal(wait(0), false)
    assert.equal(looks(), 0)
  }
  assert.equal(wait(0), true)
})
