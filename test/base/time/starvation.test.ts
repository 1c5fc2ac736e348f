import assert from 'node:assert/strict'
import { test } from 'node:test'
import { messageOf } from '../../../src/base/problem.ts'
import { createDeferred } from '../../../src/base/time/deferred.ts'
import { countedTime, withCountedDeadline } from '../../../src/base/time/starvation.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

test('a time counts as far as there was a processor, in full when little was wanting, and a fifth in any case', () => {
  for (const [elapsed, had, counted] of [
    [1_000, 2_000, 1_000],
    [1_000, 1_000, 1_000],
    [1_000, 800, 1_000],
    [1_000, 799, 799],
    [1_000, 300, 300],
    [1_000, 100, 200],
    [1_000, 0, 200],
    [0, 0, 0],
  ] as const)
    assert.equal(countedTime(elapsed, had), counted, `${had} of ${elapsed} ms`)
})

test('of what is beyond the longest time without a look nothing counts but what there was of a processor', () => {
  assert.equal(countedTime(60_000, 0, 1_000), 200)
  assert.equal(countedTime(60_000, 2_000, 1_000), 2_000)
  assert.equal(countedTime(60_000, 60_000, 1_000), 60_000)
})

/** How a deadline of 30 s fares, while the process has this share of a processor. */
function deadlineWith(share: number) {
  const manual = createManualClock()
  let paused = 0
  const clock = {
    ...manual,
    monotonic: () => manual.monotonic() + paused,
    processorTime: () => manual.monotonic() * share,
  }
  const done = createDeferred<string>()
  const outcome = withCountedDeadline(clock, 30_000, done.promise, () => new Error('late'))
  let settled = 'pending'
  outcome.then(
    (value) => (settled = value),
    (error: unknown) => (settled = messageOf(error)),
  )
  return {
    manual,
    done,
    pause: (milliseconds: number) => void (paused += milliseconds),
    async after(milliseconds: number) {
      manual.advance(milliseconds)
      await new Promise(setImmediate)
      return settled
    },
  }
}

test('a deadline comes when the process has had its time, and after five times as long at last', async () => {
  for (const [share, end] of [
    [1, 30_000],
    [0.5, 60_000],
    [0, 150_000],
  ] as const) {
    const { after, manual } = deadlineWith(share)
    assert.deepEqual([await after(end - 1_000), await after(1_000)], ['pending', 'late'], `${share}`)
    assert.equal(manual.waiting, 0)
  }
})

test('a deadline does not come for a pause of the machine, and not when all is done', async () => {
  const { after, pause } = deadlineWith(1)
  await after(10_000)
  pause(3_600_000)
  assert.deepEqual([await after(19_000), await after(3_000)], ['pending', 'late'])
  const other = deadlineWith(1)
  other.done.resolve('done')
  assert.equal(await other.after(29_000), 'done')
  assert.equal(other.manual.waiting, 0)
})
