import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLogger } from '../../src/base/log/log.ts'
import type { BusMessage } from '../../src/bus/bus.ts'
import { createInbox } from '../../src/bus/inbox.ts'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

function message(topic: string, payload = Uint8Array.of(1)): BusMessage {
  return { topic, payload, qos: 0, retained: false }
}

function createStage() {
  const heard: string[] = []
  const failures: unknown[] = []
  const inbox = createInbox({ ...silentLogger, error: (_, fields) => void failures.push(fields) })
  const hear = ({ topic, payload }: BusMessage): void => void heard.push(`${topic} ${payload.join()}`)
  return { heard, failures, inbox, hear }
}

test('messages come in their order, in a turn of their own, as they were published; one handler’s failure is its own', async () => {
  const { heard, failures, inbox, hear } = createStage()
  const first = inbox.open(hear)
  const failing = inbox.open(({ topic }) => {
    throw new Error(`no ${topic}`)
  })
  const second = inbox.open(hear)
  const at = inbox.open(hear, { immediate: true })
  const payload = Uint8Array.of(1, 2)
  first.push(message('a', payload))
  failing.push(message('b'))
  second.push(message('c'))
  assert.deepEqual(heard, [])
  at.push(message('at once'))
  assert.deepEqual(heard.splice(0), ['at once 1'])
  payload.fill(9)
  // On a busy machine the first of them may have taken all of a slice.
  while (heard.length < 2) await turn()
  assert.deepEqual(heard, ['a 1,2', 'c 1'])
  assert.deepEqual(failures, [{ topic: 'b', reason: 'no b' }])
})

test('handlers that take long have others served between them', async () => {
  const { heard, inbox } = createStage()
  const slow = inbox.open(({ topic }) => {
    heard.push(topic)
    // Longer than a slice.
    for (const begun = performance.now(); performance.now() - begun < 10;);
  })
  for (const topic of ['a', 'b', 'c']) slow.push(message(topic))
  await turn()
  assert.deepEqual(heard, ['a'])
  while (heard.length < 3) await turn()
  assert.deepEqual(heard, ['a', 'b', 'c'])
})

test('who publishes is asked to wait while more than a thousand messages do, until they have gone down to that', async () => {
  const { inbox } = createStage()
  let handled = 0
  const slow = inbox.open(() => {
    handled += 1
    // One a turn, of those that have to go before there are few.
    if (handled <= 2) for (const begun = performance.now(); performance.now() - begun < 10;);
  })
  for (let count = 0; count < 1_000; count += 1) slow.push(message('a'))
  assert.equal(inbox.congested(), undefined)
  for (let count = 0; count < 2; count += 1) slow.push(message('a'))
  const caughtUp = inbox.congested()?.then(() => handled)
  assert.notEqual(caughtUp, undefined)
  assert.equal(await caughtUp, 2)
  assert.equal(inbox.congested(), undefined)
})

test('no handler is called after its end, or that of all, and nobody waits for them any more', async () => {
  const { heard, inbox, hear } = createStage()
  const [one, other] = [inbox.open(hear), inbox.open(hear, { immediate: true })]
  one.push(message('a'))
  assert.deepEqual([one.close(), one.close()], [true, false])
  one.push(message('b'))
  await turn()
  const last = inbox.open(hear)
  for (let count = 0; count < 1_001; count += 1) last.push(message('c'))
  const caughtUp = inbox.congested()
  assert.notEqual(caughtUp, undefined)
  inbox.close()
  await caughtUp
  last.push(message('d'))
  other.push(message('e'))
  await turn()
  assert.deepEqual([heard, inbox.congested()], [[], undefined])
})
