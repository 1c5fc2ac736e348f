import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDeliveries } from '../../../src/sandbox/flow/deliveries.ts'
import { createFlow } from '../../../src/sandbox/flow/flow.ts'
import { createFrameReader } from '../../../src/schema/worker/message-frames.ts'
import { flowCells } from '../../../src/schema/worker/shared-cells.ts'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Deliveries to an isolate with room for so many bytes, and what has been sent to it: the names of each message. */
function createStage(room: number) {
  const flow = createFlow(room)
  const cells = new Int32Array(flow.buffer)
  const messages: string[][] = []
  const warnings: string[] = []
  const time = { now: 0 }
  const deliveries = createDeliveries({
    ...{ isolate: 1, flow, notice: 60_000 },
    monotonic: () => time.now,
    warn: (message) => void warnings.push(message),
    post(message) {
      assert.ok(message.kind === 'deliver')
      const reader = createFrameReader(message.frames)
      const names: string[] = []
      for (let frame = reader.next(); frame !== undefined; frame = reader.next()) names.push(frame.name)
      messages.push(names)
    },
  })
  const event = (name: string, bytes: number): void => deliveries.event(name, new Uint8Array(bytes))
  const handle = (bytes: number): void => void Atomics.add(cells, flowCells.handled, bytes)
  return { deliveries, event, handle, messages, warnings, time }
}

const begins = 'events and messages are dropped: the plugin handles them more slowly than they come'

test('what comes in one turn goes in one message, and no more than 64 KiB wait for the end of it', async () => {
  const { deliveries, event, messages } = createStage(1e6)
  event('a', 10)
  deliveries.message(1, 'b', new Uint8Array(10))
  deliveries.trigger('schedule', 1, 'c', new Uint8Array())
  deliveries.connection('connection', 1, 'd', '{}')
  assert.deepEqual(messages, [])
  await turn()
  assert.deepEqual(messages, [['a', 'b', 'c', 'd']])
  event('e', 10)
  event('f', 65_536)
  assert.deepEqual(messages.slice(1), [['e', 'f']])
  await turn()
  assert.equal(messages.length, 2)
  deliveries.connection('data', 1, 'g', '')
  await turn()
  assert.deepEqual(messages.slice(2), [['g']])
})

test('who is behind loses what comes, is told when that begins and how much it was, and not more than once a minute', async () => {
  const { deliveries, event, handle, messages, warnings, time } = createStage(1_000)
  event('last that has room', 2_000)
  event('x', 1)
  deliveries.message(1, 'x', new Uint8Array(1))
  deliveries.trigger('schedule', 1, 'x', new Uint8Array())
  // A connection is paused, and loses nothing.
  deliveries.connection('connection', 1, 'connection', '{}')
  await turn()
  assert.deepEqual(messages, [['last that has room', 'connection']])
  assert.deepEqual(warnings, [begins])
  handle(5_000)
  event('y', 10_000)
  assert.deepEqual(warnings, [begins, '3 events and messages were dropped'])
  time.now = 59_999
  event('x', 1)
  assert.equal(warnings.length, 2)
  time.now = 60_000
  event('x', 1)
  time.now = 200_000
  event('x', 1)
  handle(10_000)
  event('z', 1)
  assert.deepEqual(warnings.slice(2), [begins, '3 events and messages were dropped'])
  await turn()
  assert.deepEqual(messages.slice(1), [['y', 'z']])
})

test('there is as much room after four gigabytes as before', () => {
  const flow = createFlow(1_000)
  const cells = new Int32Array(flow.buffer)
  for (let count = 0; count < 5; count += 1) {
    flow.sent(1_000_000_000)
    assert.equal(flow.hasRoom(), false)
    Atomics.add(cells, flowCells.handled, 999_999_000)
    assert.equal(flow.hasRoom(), false)
    Atomics.add(cells, flowCells.handled, 1)
    assert.equal(flow.hasRoom(), true)
    Atomics.add(cells, flowCells.handled, 999)
  }
})

test('once the isolate is over nothing more is sent, also of what waits for the end of the turn', async () => {
  const { deliveries, event, messages } = createStage(1e6)
  event('a', 1)
  deliveries.close()
  event('b', 100_000)
  deliveries.connection('data', 1, 'c', new Uint8Array(100_000))
  await turn()
  assert.deepEqual(messages, [])
})
