import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getHeapSpaceStatistics } from 'node:v8'
import { shrinkHeap } from '../../../src/base/memory/shrink-heap.ts'

/** Megabytes that are taken for new objects. */
const taken = (): number => {
  const space = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')
  return (space?.space_size ?? Number.NaN) / 1024 / 1024
}

test('what the heap has taken for many new objects goes back to the system', async () => {
  // Those that live for a while make V8 take all the room that it may, sooner or later.
  for (let round = 0; round < 1_000 && taken() <= 16; round += 1)
    Array.from({ length: 60_000 }, (_, index) => ({ index }))
  const before = taken()
  await shrinkHeap()
  const after = taken()
  assert.ok(before - after > 12, `${before.toFixed(1)} and then ${after.toFixed(1)} MB`)
  // There is nothing to give back now.
  await shrinkHeap()
  assert.ok(Math.abs(taken() - after) < 4)
})
