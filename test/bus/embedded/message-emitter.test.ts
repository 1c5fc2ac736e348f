import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { test } from 'node:test'
import { createMessageEmitter, endsPerTurn } from '../../../src/bus/embedded/message-emitter.ts'

test('tens of thousands of subscriptions that end at once end over many turns, a few of them at once', async () => {
  const emitter = createMessageEmitter<{ topic: string }>()
  const count = 10 * endsPerTurn
  const filters = Array.from({ length: count }, (_, index) => `a/${index}`)
  let heard = 0
  const listener = (_message: unknown, done: () => void): void => {
    heard += 1
    done()
  }
  const listening = (): number => {
    heard = 0
    for (const topic of filters) emitter.emit({ topic })
    return heard
  }
  for (const filter of filters) emitter.on(filter, listener)
  assert.equal(listening(), count)
  let ended = 0
  for (const filter of filters) emitter.removeListener(filter, listener, () => (ended += 1))
  const left = [listening()]
  while (left.at(-1) !== 0) {
    await nextTurn()
    left.push(listening())
  }
  assert.ok(left.length >= 10, `${left.length} turns`)
  for (const [index, more] of left.slice(1).entries()) assert.ok((left[index] ?? 0) - more <= endsPerTurn)
  await nextTurn()
  await nextTurn()
  assert.equal(ended, count)

  for (const filter of filters.slice(0, endsPerTurn)) emitter.on(filter, listener)
  await nextTurn()
  for (const filter of filters.slice(0, endsPerTurn)) emitter.removeListener(filter, listener)
  assert.equal(listening(), 0)
})
