import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../helpers/until.ts'
import { startBus } from './bus-fixture.ts'
import { connectPacket, connectRaw, openRaw, publishedIn, subscribePacket } from './raw-client.ts'

/** Clients that come back: what is on its way to them, and what is left of their connection before. */

for (const qos of [1, 2] as const)
  test(`What is published with QoS ${qos} while what has waited is on its way comes behind that, and once`, async (context) => {
    const bus = await startBus(context)
    const session = { id: 'returns', clean: false }
    const before = await connectRaw(context, bus.url, session)
    before.send(subscribePacket(1, ['order', qos]))
    await before.expect('suback')
    await before.vanish()
    await until('the broker to see that it has gone', async () => bus.clients === 0)
    const payloads = Array.from({ length: 300 }, (_, number) => `${number}`)
    for (const payload of payloads) await bus.publish('order', payload, { qos })
    const back = await openRaw(context, bus.url)
    // Before it is even known that the client is back, and then in the middle.
    back.send(connectPacket(session))
    const early = Array.from({ length: 20 }, (_, number) => `early ${number}`)
    for (const payload of early) {
      await bus.publish('order', payload, { qos })
      await new Promise((resolve) => setImmediate(resolve))
    }
    await back.expect('connack')
    const heard = [publishedIn(await back.expect('publish'))]
    await bus.publish('order', 'meanwhile', { qos })
    while (heard.at(-1)?.payload !== 'meanwhile') heard.push(publishedIn(await back.expect('publish')))
    await bus.publish('order', 'last', { qos })
    heard.push(publishedIn(await back.expect('publish')))
    assert.deepEqual(
      heard.map(({ payload, dup }) => [payload, dup]),
      [...payloads, ...early, 'meanwhile', 'last'].map((payload) => [payload, false]),
    )
    assert.equal(new Set(heard.map(({ id }) => id)).size, heard.length)
  })
