import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  leaseFor,
  leaseOfRecord,
  nextDue,
  shorten,
  takeDueQuery,
} from '../../../src/outside/discovery/lease.ts'

test('what is said is believed for its time, at least ten seconds and a day at most', () => {
  assert.deepEqual(leaseFor(1_000, 100), { at: 1_000, until: 101_000, asks: [81_000, 91_000] })
  assert.deepEqual(
    [0, 1, 10, 86_400, 1e9].map((seconds) => leaseFor(0, seconds).until),
    [10_000, 10_000, 10_000, 86_400_000, 86_400_000],
  )
})

test('it is asked for again twice before it ends, each time once', () => {
  const lease = leaseFor(0, 100)
  const askedAt = (now: number) => [takeDueQuery(lease, now), nextDue(lease)]
  assert.deepEqual(askedAt(79_999), [false, 80_000])
  assert.deepEqual(askedAt(80_000), [true, 90_000])
  assert.deepEqual(askedAt(80_000), [false, 90_000])
  assert.deepEqual(askedAt(95_000), [true, 100_000])
  assert.deepEqual(askedAt(95_000), [false, 100_000])
  // Who was asleep asks once.
  const other = leaseFor(0, 100)
  assert.deepEqual([takeDueQuery(other, 95_000), takeDueQuery(other, 95_000)], [true, false])
})

test('what says goodbye is believed for a second more, and is not asked for', () => {
  assert.deepEqual(leaseOfRecord(5_000, 0), { at: 5_000, until: 6_000, asks: [] })
  assert.deepEqual(leaseOfRecord(5_000, 100), leaseFor(5_000, 100))
})

test('what is in doubt ends sooner and never later, and is asked for when that is said', () => {
  const lease = leaseFor(0, 100)
  shorten(lease, 10_000, [1_000])
  assert.deepEqual([lease.until, nextDue(lease)], [10_000, 1_000])
  shorten(lease, 20_000)
  assert.deepEqual([lease.until, nextDue(lease)], [10_000, 10_000])
})
