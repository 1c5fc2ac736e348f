import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withDeadline } from '../../../src/base/time/clock.ts'
import { createDeferred } from '../../../src/base/time/deferred.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

test('who does not answer in time is late, also when the call comes a little later', async () => {
  for (const pause of [0, 999]) {
    const clock = createManualClock()
    const outcome = withDeadline(clock, 7_000, createDeferred<string>().promise, () => new Error('late'))
    clock.advance(6_999)
    assert.equal(clock.waiting, 1)
    clock.pause(pause)
    clock.advance(1)
    await assert.rejects(outcome, /^Error: late$/)
  }
})

test('an answer that came while this process stood still is heard, and a silence after that is late', async () => {
  const clock = createManualClock()
  const answer = createDeferred<string>()
  const outcomes = [answer.promise, createDeferred<string>().promise].map((promise) =>
    withDeadline(clock, 7_000, promise, () => new Error('late')),
  )
  clock.pause(45_000)
  clock.advance(0)
  answer.resolve('there')
  assert.equal(await outcomes[0], 'there')
  clock.advance(7_000)
  await assert.rejects(outcomes[1] ?? Promise.resolve(), /^Error: late$/)
  assert.equal(clock.waiting, 0)
})

test('a process that always stands still does not wait without an end', async () => {
  const clock = createManualClock()
  const outcome = withDeadline(clock, 7_000, createDeferred<string>().promise, () => new Error('late'))
  for (let times = 0; times < 2; times += 1) {
    assert.equal(clock.waiting, 1)
    clock.pause(45_000)
    clock.advance(0)
  }
  await assert.rejects(outcome, /^Error: late$/)
})
