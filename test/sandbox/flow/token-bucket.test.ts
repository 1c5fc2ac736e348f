import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTokenBucket, type PaceLimits } from '../../../src/sandbox/flow/token-bucket.ts'

const none = Number.POSITIVE_INFINITY

/** A bucket, and the milliseconds of a clock that stands still until it is told to go on. */
function bucketAt(limits: Partial<PaceLimits>) {
  const clock = { now: 5_000 }
  const charge = createTokenBucket(
    { operationsPerSecond: none, operationBurst: 0, bytesPerSecond: none, byteBurst: 0, ...limits },
    () => clock.now,
  )
  return { charge, clock }
}

test('who has no limits owes nothing', () => {
  const { charge } = bucketAt({})
  assert.deepEqual(charge(1e9, 1e12), { owed: 0, of: 'operationsPerSecond' })
})

test('a burst is free, and what goes beyond it waits for its share of a second', () => {
  const { charge, clock } = bucketAt({ operationsPerSecond: 10, operationBurst: 5 })
  const owed = (operations: number) => charge(operations, 0).owed
  assert.equal(owed(5), 0)
  assert.equal(owed(1), 100)
  assert.equal(owed(2), 300)
  clock.now += 250
  assert.equal(owed(0), 50)
  clock.now += 50
  assert.equal(owed(1), 100)
})

test('a rest gives the burst back, and never more than that', () => {
  const { charge, clock } = bucketAt({ operationsPerSecond: 10, operationBurst: 5 })
  charge(5, 0)
  clock.now += 200
  assert.deepEqual([charge(2, 0).owed, charge(1, 0).owed], [0, 100])
  clock.now += 3_600_000
  assert.deepEqual([charge(5, 0).owed, charge(1, 0).owed], [0, 100])
})

test('of two limits the one that asks for more time is named', () => {
  const { charge, clock } = bucketAt({ operationsPerSecond: 10, bytesPerSecond: 1_000 })
  assert.deepEqual(charge(1, 500), { owed: 500, of: 'bytesPerSecond' })
  assert.deepEqual(charge(9, 100), { owed: 1_000, of: 'operationsPerSecond' })
  clock.now += 10_000
  assert.deepEqual(charge(1, 100), { owed: 100, of: 'operationsPerSecond' })
})
