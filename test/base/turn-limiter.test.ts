import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTurnLimiter } from '../../src/base/turn-limiter.ts'

test('so many begin in a turn of the event loop, the others in the next ones, in their order', async () => {
  const turns: (() => void)[] = []
  const passTurn = createTurnLimiter(2, (turn) => turns.push(turn))
  const begun: number[] = []
  const endTurn = async (): Promise<void> => {
    for (const turn of turns.splice(0)) turn()
    await Promise.resolve()
    await Promise.resolve()
  }
  const pass = (number: number): void => void passTurn().then(() => begun.push(number))
  for (const number of [1, 2, 3, 4, 5]) pass(number)
  await Promise.resolve()
  assert.deepEqual(begun, [1, 2])
  await endTurn()
  assert.deepEqual(begun, [1, 2, 3, 4])
  // Who comes in the turn of those that have waited waits in its turn.
  pass(6)
  pass(7)
  await endTurn()
  assert.deepEqual(begun, [1, 2, 3, 4, 5, 6])
  await endTurn()
  await endTurn()
  assert.deepEqual([begun, turns], [[1, 2, 3, 4, 5, 6, 7], []])
  pass(8)
  await Promise.resolve()
  assert.equal(begun.at(-1), 8, 'nobody is before it, so it begins at once')
})

test('where one may begin in a turn, the next one does in the next turn', async () => {
  const turns: (() => void)[] = []
  const passTurn = createTurnLimiter(1, (turn) => turns.push(turn))
  await passTurn()
  const next = passTurn()
  assert.equal(turns.length, 1)
  turns[0]?.()
  await next
})
