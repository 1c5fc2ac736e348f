import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { until } from '../helpers/until.ts'
import { writeBehindDelay, writtenTimeout } from '../../src/bus/store/write-behind.ts'
import { connect, connectListening, lateClock, lines } from './bus-fixture.ts'
import { createKeptBus, silentDisk } from './kept-bus.ts'
import {
  acknowledgePacket,
  connectRaw,
  idIn,
  publishedIn,
  publishPacket,
  subscribePacket,
} from './raw-client.ts'

/** What a client has been told is done is on disk: a `kill -9` in this moment leaves it behind. */

/** A bus that writes nothing by and by. `killed` starts the next one on what a kill would leave now. */
async function createStage(context: TestContext) {
  const { clock } = lateClock(writeBehindDelay)
  const kept = await createKeptBus(context)
  const bus = await kept.start({ clock })
  return { bus, killed: async () => kept.start({}, await kept.copy()) }
}

const session = (id: string) => ({ id, clean: false })

for (const qos of [1, 2] as const)
  test(`A message of QoS ${qos} that was confirmed is retained, and waits for the sessions of clients that are away`, async (context) => {
    const { bus, killed } = await createStage(context)
    for (const id of ['one', 'two']) {
      const away = await connectRaw(context, bus.url, session(id))
      away.send(subscribePacket(1, ['x/#', 2]))
      await away.expect('suback')
      await away.vanish()
    }
    const publisher = await connect(context, bus.url)
    await publisher.publishAsync('x/retained', 'kept', { qos, retain: true })
    const first = await killed()
    await publisher.publishAsync('x/plain', 'waits', { qos })
    const second = await killed()

    const late = connectListening(context, first.url)
    await late.client.subscribeAsync('x/retained', { qos: 2 })
    assert.deepEqual(lines(await late.received.take(1)), ['x/retained kept'])
    for (const clientId of ['one', 'two']) {
      const { received } = connectListening(context, second.url, { clientId, clean: false })
      assert.deepEqual(lines(await received.take(2)), ['x/retained kept', 'x/plain waits'])
    }
  })

test('What a session has subscribed to, and that it has ended, is on disk when it is confirmed', async (context) => {
  const { bus, killed } = await createStage(context)
  const client = await connectRaw(context, bus.url, session('mine'))
  client.send(subscribePacket(1, ['one', 1], ['two', 1]))
  await client.expect('suback')
  const first = await killed()
  const anew = await connectRaw(context, bus.url, { id: 'mine', clean: true })
  assert.equal(anew.sessionPresent, false)
  const second = await killed()

  const heardAt = async ({ url }: { url: string }): Promise<string[]> => {
    const publisher = await connect(context, url)
    for (const topic of ['one', 'two']) await publisher.publishAsync(topic, 'x', { qos: 1 })
    const { sessionPresent, ...back } = await connectRaw(context, url, session('mine'))
    if (!sessionPresent) back.send(subscribePacket(1, ['mark', 1]))
    if (!sessionPresent) await back.expect('suback')
    await publisher.publishAsync(sessionPresent ? 'two' : 'mark', 'mark', { qos: 1 })
    const topics: string[] = []
    for (;;) {
      const { topic, payload } = publishedIn(await back.expect('publish'))
      if (payload === 'mark') return topics
      topics.push(topic)
    }
  }
  assert.deepEqual([await heardAt(first), await heardAt(second)], [['one', 'two'], []])
})

test('Who subscribes without a session does not wait for the subscriptions of others to be on disk', async (context) => {
  const disk = silentDisk()
  const { clock } = lateClock(writtenTimeout)
  const { directory, start } = await createKeptBus(context)
  const bus = await start({ clock, disk: { directory, files: disk.files } })
  const keeps = await connectRaw(context, bus.url, session('keeps'))
  const ping = Buffer.from([0xc0, 0])
  keeps.send(subscribePacket(1, ['x', 1]), ping)
  await keeps.expect('pingresp')
  const client = await connectRaw(context, bus.url, { id: 'live', clean: true })
  client.send(subscribePacket(1, ['x', 1]))
  // The confirmation takes a turn; when somebody else has been let in that is over.
  await connectRaw(context, bus.url, { id: 'later', clean: true })
  client.send(ping)
  await client.expect('suback')
  disk.answer()
  await keeps.expect('suback')
})

test('The will of a client is on disk when it is told that it is connected, and that of one that took it over', async (context) => {
  const { bus, killed } = await createStage(context)
  const watched = (qos: number, retain: boolean) =>
    connectRaw(context, bus.url, {
      ...{ id: 'watched', clean: true },
      will: { topic: 'watched/state', payload: 'gone', qos, retain },
    })
  await watched(1, true)
  const first = await killed()
  const late = connectListening(context, first.url)
  await late.client.subscribeAsync('watched/#')
  assert.deepEqual(lines(await late.received.take(1)), ['watched/state gone'])

  const listening = connectListening(context, bus.url)
  await listening.client.subscribeAsync('watched/#')
  await watched(0, false)
  await listening.received.take(1)
  const publisher = await connect(context, bus.url)
  await publisher.publishAsync('watched/state', 'online', { qos: 1, retain: true })
  const second = connectListening(context, (await killed()).url)
  await second.client.subscribeAsync('watched/#')
  assert.deepEqual(lines(await second.received.take(1)), ['watched/state online'])
})

test('The number of a message of QoS 2 is free for another one when its end was confirmed, and not before', async (context) => {
  const { bus, killed } = await createStage(context)
  const sender = await connectRaw(context, bus.url, session('sender'))
  const message = { topic: 'once', payload: 'first', qos: 2, id: 7 } as const
  const sentTo = async ({ url }: { url: string }, payload: string, dup: boolean): Promise<string[]> => {
    const { client, received } = connectListening(context, url)
    await client.subscribeAsync('once', { qos: 0 })
    const again = await connectRaw(context, url, session('sender'))
    again.send(publishPacket({ ...message, payload, dup }))
    await again.expect('pubrec')
    await client.publishAsync('once', 'mark')
    for (let count = 1; ; count += 1) {
      const texts = lines(await received.take(count))
      if (texts.at(-1) === 'once mark') return texts.slice(0, -1)
    }
  }
  sender.send(publishPacket(message))
  await sender.expect('pubrec')
  const first = await killed()
  sender.send(acknowledgePacket('pubrel', message.id))
  await sender.expect('pubcomp')
  const second = await killed()
  assert.deepEqual(await sentTo(first, 'first', true), [])
  assert.deepEqual(await sentTo(second, 'another', false), ['once another'])
})

test('Confirmations come in the order of the messages, whichever of them have to be on disk', async (context) => {
  const { bus } = await createStage(context)
  const client = await connectRaw(context, bus.url, { id: 'sender', clean: true })
  const ids = Array.from({ length: 2_000 }, (_, index) => index + 1)
  client.send(
    ...ids.map((id) => publishPacket({ topic: 'x', payload: 'y', qos: 1, id, retain: id % 3 === 1 })),
  )
  const confirmed: number[] = []
  while (confirmed.length < ids.length) confirmed.push(idIn(await client.expect('puback')))
  assert.deepEqual(confirmed, ids)
})

test('A message that is kept does not overtake the one before it on its topic that nobody keeps', async (context) => {
  const { bus } = await createStage(context)
  const listening = await connectRaw(context, bus.url, { id: 'listening', clean: true })
  listening.send(subscribePacket(1, ['x', 1]))
  await listening.expect('suback')
  const sender = await connectRaw(context, bus.url, { id: 'sender', clean: true })
  const message = { topic: 'x', qos: 1 } as const
  sender.send(
    publishPacket({ ...message, payload: 'first', id: 1 }),
    publishPacket({ ...message, payload: 'second', id: 2, retain: true }),
  )
  const payloads = []
  while (payloads.length < 2) payloads.push(publishedIn(await listening.expect('publish')).payload)
  assert.deepEqual(payloads, ['first', 'second'])
})

test('A message of QoS 2 that a client has got is the same one for it after a kill, whether it came at once or had waited, and so is its release', async (context) => {
  const { bus, killed } = await createStage(context)
  const listen = (url: string) => connectRaw(context, url, session('listening'))
  const client = await listen(bus.url)
  client.send(subscribePacket(1, ['x', 2]))
  await client.expect('suback')
  const publisher = await connect(context, bus.url)
  await publisher.publishAsync('x', 'live', { qos: 2 })
  const live = publishedIn(await client.expect('publish'))
  const first = await killed()
  client.send(acknowledgePacket('pubrec', live.id))
  await client.expect('pubrel')
  const second = await killed()
  assert.deepEqual(publishedIn(await (await listen(first.url)).expect('publish')), { ...live, dup: true })
  assert.equal(idIn(await (await listen(second.url)).expect('pubrel')), live.id)

  client.send(acknowledgePacket('pubcomp', live.id))
  await client.vanish()
  await until('one client', () => Promise.resolve(bus.clients === 1))
  const payloads = ['one', 'two', 'three']
  for (const payload of payloads) await publisher.publishAsync('x', payload, { qos: 2 })
  const again = await listen(bus.url)
  const waited = []
  while (waited.length < payloads.length) waited.push(publishedIn(await again.expect('publish')))
  const third = await listen((await killed()).url)
  assert.deepEqual(
    waited.map(({ payload, dup }) => [payload, dup]),
    payloads.map((payload) => [payload, false]),
  )
  assert.equal(new Set(waited.map(({ id }) => id)).size, payloads.length)
  for (const message of waited)
    assert.deepEqual(publishedIn(await third.expect('publish')), { ...message, dup: true })
})
