import assert from 'node:assert/strict'
import { test } from 'node:test'
import { untilReading } from '../../src/sandbox/worker/scheduling/reading-time.ts'
import { workerClock } from '../../src/sandbox/worker/scheduling/worker-clock.ts'

test('getters are read at the same time of each second, and slow ones rest for as long as they have taken', (context) => {
  let now = workerClock.monotonic()
  context.mock.method(workerClock, 'monotonic', () => now)
  const time = now + untilReading()
  for (const [after, spent, left] of [
    [0, 0, 1_000],
    [3, 3, 997],
    [400, 0, 600],
    [400, 400, 600],
    [600, 0, 400],
    [600, 600, 1_400],
    [970, 970, 1_030],
    [995, 0, 1_005],
    [1_400, 1_400, 1_600],
    [7_200, 7_200, 1_800],
  ] as const) {
    now = time + after
    assert.equal(Math.round(untilReading(spent)), left, `${spent} ms, ${after} ms after a reading began`)
  }
})
