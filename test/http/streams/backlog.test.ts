import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limitBacklog } from '../../../src/http/streams/backlog.ts'

test('a piece may follow while no more waits than the limit and the largest piece, which counts until all has gone', () => {
  let waiting = 0
  const mayTake = limitBacklog(100, () => waiting)
  const mayTakeBehind = (bytes: number, piece: number): boolean => {
    waiting = bytes
    return mayTake(piece)
  }
  // However large one is.
  assert.equal(mayTakeBehind(0, 1_000), true)
  assert.equal(mayTakeBehind(1_000, 1), true)
  assert.equal(mayTakeBehind(1_100, 1), true)
  assert.equal(mayTakeBehind(1_101, 1), false)
  assert.equal(mayTakeBehind(1_100, 10), true)
  assert.equal(mayTakeBehind(0, 50), true)
  assert.equal(mayTakeBehind(150, 10), true)
  assert.equal(mayTakeBehind(151, 10), false)
})
