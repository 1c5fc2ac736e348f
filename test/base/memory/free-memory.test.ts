import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freeMemory } from '../../../src/base/memory/free-memory.ts'
import { until } from '../../helpers/until.ts'

const held = (): number => process.memoryUsage().arrayBuffers

test('memory that is freed is free at once, without a garbage collection', async () => {
  const before = held()
  freeMemory(new Uint8Array(4_000_000))
  // The first one as soon as the way out has been made.
  await until('the first is free', () => Promise.resolve(held() - before < 1_000_000))
  const array = new Uint8Array(4_000_000)
  const full = held()
  freeMemory(array)
  assert.equal(array.byteLength, 0)
  assert.ok(full - held() > 3_000_000, `${full} and then ${held()} bytes`)
})

test('a part of a buffer frees all of it, and once more does no harm', () => {
  const whole = new Uint8Array(100_000)
  const part = whole.subarray(10, 20)
  freeMemory(part)
  assert.deepEqual([whole.byteLength, part.byteLength], [0, 0])
  freeMemory(part)
})

test('a small buffer, and one that other threads share, stay as they are', () => {
  const small = new Uint8Array(1_000).fill(7)
  const shared = new Uint8Array(new SharedArrayBuffer(100_000)).fill(7)
  for (const array of [small, shared]) {
    freeMemory(array)
    assert.equal(array.at(-1), 7)
  }
})
