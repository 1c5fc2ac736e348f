import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createThrottle } from '../../src/sandbox/worker/plugin-api/throttle.ts'

const unlimited = { most: Number.POSITIVE_INFINITY, hasRoom: () => true }
import { createManualClock } from '../helpers/manual-clock.ts'

const window = 100
/** Pauses between offers, in milliseconds. */
const pauses = fc.array(fc.integer({ min: 0, max: 250 }), { maxLength: 60, size: 'max' })

function run(pausesBefore: readonly number[], trailing: boolean) {
  const clock = createManualClock(0)
  const sent: { item: number; at: number }[] = []
  const throttle = createThrottle<number>(clock, (item) => sent.push({ item, at: clock.now() }), unlimited)
  const answers = pausesBefore.map((pause, item) => {
    clock.advance(pause)
    return throttle.offer('w', window, trailing, item)
  })
  return { clock, sent, throttle, answers }
}

test('§6 two events of one window are never closer than the window', () => {
  fc.assert(
    fc.property(pauses, fc.boolean(), (list, trailing) => {
      const { clock, sent } = run(list, trailing)
      clock.advance(10 * window)
      for (const [index, { at }] of sent.entries()) {
        const previous = sent[index - 1]
        if (previous !== undefined) assert.ok(at - previous.at >= window)
      }
    }),
  )
})

test('§6 without trailing exactly what was answered with true went out, in order', () => {
  fc.assert(
    fc.property(pauses, (list) => {
      const { clock, sent, answers } = run(list, false)
      clock.advance(10 * window)
      const expected = answers.flatMap((now, item) => (now ? [item] : []))
      assert.deepEqual(
        sent.map(({ item }) => item),
        expected,
      )
      assert.deepEqual(answers[0] ?? true, true)
    }),
  )
})

test('§6 with trailing the last event always goes out within a window, and nothing is out of order', () => {
  fc.assert(
    fc.property(pauses, (list) => {
      const { clock, sent, throttle } = run(list, true)
      clock.advance(window)
      const items = sent.map(({ item }) => item)
      assert.equal(items.at(-1), list.length === 0 ? undefined : list.length - 1)
      assert.deepEqual(
        items,
        [...items].sort((a, b) => a - b),
      )
      clock.advance(window)
      assert.equal(throttle.count(), 0)
      assert.equal(clock.waiting, 0)
    }),
  )
})

test('§6 a trailing event opens the next window', () => {
  const { clock, sent, throttle } = run([0, 10], true)
  clock.advance(95)
  assert.deepEqual(sent, [
    { item: 0, at: 0 },
    { item: 1, at: 100 },
  ])
  assert.equal(throttle.offer('w', window, true, 2), false)
  clock.advance(95)
  assert.deepEqual(sent.at(-1), { item: 2, at: 200 })
})

test('§6 windows of different names do not hold each other back', () => {
  const { throttle, sent } = run([0], false)
  assert.equal(throttle.offer('other', window, false, 9), true)
  assert.deepEqual(
    sent.map(({ item }) => item),
    [0, 9],
  )
  assert.equal(throttle.count(), 2)
})

test('§6 a collection sends all its values at the end of its window, in order and with duplicates', () => {
  fc.assert(
    fc.property(pauses, (list) => {
      const clock = createManualClock(0)
      const sent: { values: number[]; at: number }[] = []
      const throttle = createThrottle<number[]>(
        clock,
        (values) => sent.push({ values, at: clock.now() }),
        unlimited,
      )
      for (const pause of list) {
        clock.advance(pause)
        throttle.collect('w', window, pause, (values: number[]) => values)
      }
      clock.advance(window)
      assert.deepEqual(
        sent.flatMap(({ values }) => values),
        list,
      )
      for (const [index, { at }] of sent.entries()) assert.ok(at - (sent[index - 1]?.at ?? 0) >= window)
      assert.equal(throttle.count(), 0)
    }),
  )
})

test('§6 what is held back when the throttle is cleared never goes out', () => {
  const { clock, sent, throttle } = run([0, 10], true)
  throttle.collect('c', window, 1, () => 99)
  throttle.clear()
  clock.advance(1_000)
  assert.deepEqual(
    sent.map(({ item }) => item),
    [0],
  )
  assert.equal(clock.waiting, 0)
})
