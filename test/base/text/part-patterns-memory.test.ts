import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPartPatterns } from '../../../src/base/text/part-patterns.ts'
import { collectGarbage } from '../../helpers/collect-garbage.ts'

/** Bytes: a fraction of what 300 patterns of 64 parts would take if each had room for 4,000 at each of its parts. */
const allowed = 4 * 1024 * 1024

function buffers(): number {
  collectGarbage()
  return process.memoryUsage().arrayBuffers
}

test('parts that many patterns had in common once, and one has now, take the memory of one', () => {
  const patterns = createPartPatterns(':')
  const pattern = (round: number, number: number): string => `${`part${round}:`.repeat(63)}${number}`
  for (let number = 0; number < 3_000; number += 1) patterns.add(pattern(0, number))
  const first = buffers()
  for (let round = 1; round <= 300; round += 1) {
    for (let number = 0; number < 150; number += 1) patterns.add(pattern(round, number))
    for (let number = 1; number < 150; number += 1) patterns.delete(pattern(round, number))
  }
  assert.ok(buffers() - first < allowed, `${buffers() - first} bytes`)
  assert.equal(patterns.size, 3_300)
  for (let round = 1; round <= 300; round += 1) {
    assert.equal(patterns.matches(pattern(round, 0)), true)
    assert.equal(patterns.matches(pattern(round, 1)), false)
  }
})
