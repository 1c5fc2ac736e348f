import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collectFromBus, startBus, textOf } from './bus-fixture.ts'
import { connectPacket, connectRaw, openRaw, publishPacket, subscribePacket } from './raw-client.ts'

/** Clients need not wait for the answer to their CONNECT (MQTT 3.1.1, section 3.1.4): what they send behind it is for later. */

test('What a client sends behind its CONNECT is not carried out before it is let in', async (context) => {
  const bus = await startBus(context, { token: 'the token of this host' })
  const heard = await collectFromBus(bus, '#')
  await heard.take(1)
  // More than the broker reads at a time: what is left comes in the same turn, before anybody is asked for a password.
  const payload = 'x'.repeat(100_000)
  for (let attempt = 0; attempt < 10; attempt += 1) {
    const stranger = await openRaw(context, bus.url)
    stranger.send(
      connectPacket({ id: `stranger ${attempt}`, clean: true }),
      publishPacket({ topic: 'host/request/list', payload, qos: 0 }),
    )
    assert.equal((await stranger.expect('connack')).body[1], 4)
    await stranger.ended
  }
  await bus.publish('after', 'all')
  assert.deepEqual((await heard.take(2)).map(textOf), ['host/status online', 'after all'])
})

test('However much a client sends with its CONNECT, all of it is carried out, in order', async (context) => {
  const bus = await startBus(context)
  const heard = await collectFromBus(bus, 'eager/#')
  const session = { id: 'eager', clean: false }
  const before = await connectRaw(context, bus.url, session)
  before.send(subscribePacket(1, ['waiting', 1]))
  await before.expect('suback')
  before.send(Buffer.from([0xe0, 0]))
  await before.ended
  const numbers = Array.from({ length: 500 }, (_, number) => number)
  for (const number of numbers) await bus.publish('waiting', `${number}`, { qos: 1 })
  const client = await openRaw(context, bus.url)
  const publish = (number: number): Buffer => publishPacket({ topic: `eager/${number}`, payload: '', qos: 0 })
  client.send(connectPacket(session), ...numbers.map(publish))
  await client.expect('connack')
  await client.expect('publish')
  client.send(publish(numbers.length))
  assert.deepEqual(
    (await heard.take(numbers.length + 1)).map(({ topic }) => topic),
    [...numbers, numbers.length].map((number) => `eager/${number}`),
  )
})
