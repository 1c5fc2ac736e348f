import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shrinkHeap } from '../../src/base/memory/shrink-heap.ts'
import { collectGarbage } from '../helpers/collect-garbage.ts'

const megabytes = (): number => process.memoryUsage().heapTotal / 1024 / 1024

test('what the heap has taken for many new objects goes back to the system', async () => {
  // Those that live for a while make V8 take all the room that it may.
  for (let round = 0; round < 40; round += 1) Array.from({ length: 60_000 }, (_, index) => ({ index }))
  collectGarbage()
  const before = megabytes()
  await shrinkHeap()
  const after = megabytes()
  assert.ok(before - after > 16, `${before.toFixed(1)} and then ${after.toFixed(1)} MB`)
  // There is nothing to give back now.
  await shrinkHeap()
  assert.ok(Math.abs(megabytes() - after) < 4)
})
