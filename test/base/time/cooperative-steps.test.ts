import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runToCompletion, runCooperatively, type Steps } from '../../../src/base/time/cooperative-steps.ts'

/** Each step takes as long as others wait at most. */
function* longSteps(count: number): Steps<number> {
  for (let step = 0; step < count; step += 1) {
    for (const end = performance.now() + 6; performance.now() < end;);
    yield
  }
  return count
}

test('others have their turn between steps that take long, and what comes of all is answered', async () => {
  let turns = 0
  let next = setImmediate(function turn() {
    turns += 1
    next = setImmediate(turn)
  })
  assert.equal(await runCooperatively(longSteps(5)), 5)
  clearImmediate(next)
  assert.ok(turns >= 4, `${turns} turns`)
})

test('what a step throws is thrown to who waits', async () => {
  function* failing(): Steps<undefined> {
    yield
    throw new Error('no')
  }
  await assert.rejects(runCooperatively(failing()), /^Error: no$/)
  assert.throws(() => runToCompletion(failing()), /^Error: no$/)
})
