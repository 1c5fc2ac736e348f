import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { test } from 'node:test'
import { createMessageEmitter, endsPerTurn } from '../../../src/bus/embedded/message-emitter.ts'

test('tens of thousands of subscriptions that end at once are taken out over many turns, and hear nothing more', async () => {
  const emitter = createMessageEmitter<{ topic: string }>()
  const count = 20 * endsPerTurn
  let heard = 0
  const subscriptions = Array.from({ length: count }, (_, index) => ({
    filter: `a/${index}`,
    listener: (_message: unknown, done: () => void): void => {
      heard += 1
      done()
    },
  }))
  const listening = (): number => {
    heard = 0
    for (const { filter } of subscriptions) emitter.emit({ topic: filter })
    return heard
  }
  const kept = (): number => subscriptions.filter(({ filter }) => emitter.cost(filter) >= 1).length
  for (const { filter, listener } of subscriptions) emitter.on(filter, listener)
  assert.deepEqual([listening(), kept()], [count, count])
  let ended = 0
  for (const { filter, listener } of subscriptions)
    emitter.removeListener(filter, listener, () => (ended += 1))
  assert.deepEqual([ended, listening()], [count, 0])
  const left = [kept()]
  while (left.at(-1) !== 0) {
    await nextTurn()
    left.push(kept())
  }
  assert.ok(left.length >= 20, `${left.length} turns`)
  for (const [index, more] of left.slice(1).entries()) assert.ok((left[index] ?? 0) - more <= endsPerTurn)

  const some = subscriptions.slice(0, endsPerTurn)
  for (const { filter, listener } of some) emitter.on(filter, listener)
  assert.equal(listening(), endsPerTurn)
  await nextTurn()
  for (const { filter, listener } of some) emitter.removeListener(filter, listener)
  assert.deepEqual([listening(), kept()], [0, 0])
})
