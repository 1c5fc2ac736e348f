import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { deliveriesAtOnce } from '../../../src/bus/listeners/read-scheduler.ts'
import { connect, startBus } from '../bus-fixture.ts'
import { connectRaw, publishPacket } from '../raw-client.ts'

const receivers = 100

/** The most that are counted within one turn of the event loop, until so many have been. */
async function mostInTurn(counted: () => number, all: number): Promise<number> {
  let most = 0
  for (let before = 0; before < all;) {
    await setImmediate()
    const now = counted()
    most = Math.max(most, now - before)
    before = now
  }
  return most
}

const burst = (qos: 0 | 1, count: number): Buffer[] =>
  Array.from({ length: count }, (_, number) =>
    publishPacket({ topic: 'to/all', payload: 'x', qos, id: number + 1 }),
  )

test('A burst of messages to many subscribers is spread over turns, and comes whole', async (context) => {
  const bus = await startBus(context)
  let heard = 0
  for (let count = 0; count < receivers; count += 1)
    await bus.subscribe('to/#', () => void (heard += 1), { immediate: true })
  const publisher = await connectRaw(context, bus.url, { id: 'publisher', clean: true })
  publisher.send(...burst(0, 1_000))
  const most = await mostInTurn(() => heard, 1_000 * receivers)
  assert.ok(most <= 2 * deliveriesAtOnce, `${most} in a turn`)
})

test('A burst of messages that wait for many clients that are away is spread over turns', async (context) => {
  const bus = await startBus(context)
  for (let count = 0; count < receivers; count += 1) {
    const client = await connect(context, bus.url, { clientId: `away ${count}`, clean: false })
    await client.subscribeAsync('to/#', { qos: 1 })
    await client.endAsync()
  }
  let heard = 0
  await bus.subscribe('to/#', () => void (heard += 1), { immediate: true })
  const publisher = await connectRaw(context, bus.url, { id: 'publisher', clean: true })
  publisher.send(...burst(1, 600))
  const most = await mostInTurn(() => heard, 600)
  assert.ok(most <= (2 * deliveriesAtOnce) / receivers, `${most} in a turn`)
})

test('Messages whose topics are looked for among thousands of wide filters are spread over turns', async (context) => {
  const bus = await startBus(context)
  const levels = 40
  const client = await connect(context, bus.url)
  await client.subscribeAsync(
    Array.from({ length: 1_000 }, (_, number) =>
      [
        ...Array.from({ length: levels }, (_, level) => ((number >> (level % 10)) & 1 ? '+' : 'a')),
        'no',
      ].join('/'),
    ),
  )
  let heard = 0
  await bus.subscribe('a/#', () => void (heard += 1), { immediate: true })
  const publisher = await connectRaw(context, bus.url, { id: 'publisher', clean: true })
  const topic = 'a/'.repeat(levels)
  publisher.send(
    ...Array.from({ length: 200 }, (_, number) =>
      publishPacket({ topic: `${topic}${number}`, payload: 'x', qos: 0 }),
    ),
  )
  const most = await mostInTurn(() => heard, 200)
  assert.ok(most <= 10, `${most} in a turn`)
})
