import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { collect, collectFromBus, connect, connectListening, startBus, textOf } from './bus-fixture.ts'
import {
  acknowledgePacket,
  connectPacket,
  connectRaw,
  idIn,
  openRaw,
  publishedIn,
  publishPacket,
  subscribePacket,
} from './raw-client.ts'

/** What MQTT 3.1.1 asks of a server, as an interoperability suite tries it. */

const qualities = [0, 1, 2] as const
/** Not what the tests are about: what the host says itself, and what ends a wait. */
const others: ReadonlySet<string> = new Set(['host/status', 'mark'])

/** A subscriber; `all`: what it has got of what was published until now. */
async function collectUntilMark(
  context: TestContext,
  url: string,
  filters: Record<string, { qos: 0 | 1 | 2 }>,
) {
  const client = await connect(context, url)
  const received = collect(client)
  await client.subscribeAsync({ ...filters, mark: { qos: 2 } })
  const publisher = await connect(context, url)
  return {
    client,
    publisher,
    async all() {
      const before = received.all.length
      await publisher.publishAsync('mark', '', { qos: 2 })
      for (let count = before + 1; ; count += 1) {
        const messages = await received.take(count)
        if (messages.at(-1)?.topic === 'mark') return messages.filter(({ topic }) => !others.has(topic))
      }
    },
  }
}

test('Basic: messages of each QoS arrive as they were sent; a second CONNECT on a connection ends it', async (context) => {
  const bus = await startBus(context)
  const { publisher, all } = await collectUntilMark(context, bus.url, { TopicA: { qos: 2 } })
  for (const qos of qualities) await publisher.publishAsync('TopicA', `qos ${qos}`, { qos })
  assert.deepEqual(
    (await all()).map(({ text, qos }) => [text, qos]),
    qualities.map((qos) => [`qos ${qos}`, qos]),
  )
  const twice = await connectRaw(context, bus.url, { id: 'twice', clean: true })
  twice.send(connectPacket({ id: 'twice', clean: true }))
  await twice.ended
})

test('Retained messages: one a topic, flagged for whoever subscribes later, until an empty one takes it away', async (context) => {
  const bus = await startBus(context)
  const publisher = await connect(context, bus.url)
  for (const qos of qualities) {
    await publisher.publishAsync(`Topic/${qos}`, 'older', { qos, retain: true })
    await publisher.publishAsync(`Topic/${qos}`, `qos ${qos}`, { qos, retain: true })
  }
  const later = await connect(context, bus.url)
  const received = collect(later)
  await later.subscribeAsync('Topic/+', { qos: 2 })
  assert.deepEqual(
    (await received.take(3)).map(({ topic, text, qos, retain }) => [topic, text, qos, retain]),
    qualities.map((qos) => [`Topic/${qos}`, `qos ${qos}`, qos, true]),
  )
  for (const qos of qualities) await publisher.publishAsync(`Topic/${qos}`, '', { qos, retain: true })
  await publisher.publishAsync('Topic/last', 'last', { qos: 1, retain: true })
  const last = await connect(context, bus.url)
  const afterwards = collect(last)
  await last.subscribeAsync('Topic/+', { qos: 2 })
  assert.equal((await afterwards.take(1))[0]?.text, 'last')
})

test('Messages wait for a client that is away with clean off, with their QoS, unflagged, in order', async (context) => {
  const bus = await startBus(context)
  const options = { clientId: 'sleeper', clean: false }
  const first = await connect(context, bus.url, options)
  await first.subscribeAsync({ 'TopicA/+': { qos: 2 }, 'TopicB/+': { qos: 1 } })
  await first.endAsync()
  const publisher = await connect(context, bus.url)
  for (const qos of qualities) {
    await publisher.publishAsync(`TopicA/${qos}`, 'a', { qos, retain: true })
    await publisher.publishAsync(`TopicB/${qos}`, 'b', { qos })
  }
  const again = await connectRaw(context, bus.url, { id: 'sleeper', clean: false })
  assert.equal(again.sessionPresent, true)
  const waited = []
  for (let count = 0; count < 4; count += 1) waited.push(publishedIn(await again.expect('publish')))
  assert.deepEqual(
    waited.map(({ topic, qos, dup, retain }) => [topic, qos, dup, retain]),
    [
      ['TopicA/1', 1, false, false],
      ['TopicB/1', 1, false, false],
      ['TopicA/2', 2, false, false],
      ['TopicB/2', 1, false, false],
    ],
  )
})

test('The will of a client that goes without a word is published, of one that says so it is not', async (context) => {
  const bus = await startBus(context)
  const { all } = await collectUntilMark(context, bus.url, { 'will/#': { qos: 2 } })
  for (const [id, end] of [
    ['polite', (client: Awaited<ReturnType<typeof openRaw>>) => client.send(Buffer.from([0xe0, 0]))],
    ['lost', (client: Awaited<ReturnType<typeof openRaw>>) => client.socket.destroy()],
  ] as const) {
    const will = { topic: `will/${id}`, payload: 'gone', qos: 2, retain: false }
    const client = await connectRaw(context, bus.url, { id, clean: true, will })
    end(client)
    await client.ended
  }
  assert.deepEqual(
    (await all()).map(({ topic, text, qos }) => [topic, text, qos]),
    [['will/lost', 'gone', 2]],
  )
})

test('Overlapping subscriptions: one message, with the highest QoS of those that match, whichever was first', async (context) => {
  const bus = await startBus(context)
  for (const order of [
    ['TopicA/#', 'TopicA/+', '#'],
    ['#', 'TopicA/+', 'TopicA/#'],
  ]) {
    const qos: Record<string, 0 | 1 | 2> = { 'TopicA/#': 2, 'TopicA/+': 1, '#': 0 }
    const filters = Object.fromEntries(order.map((filter) => [filter, { qos: qos[filter] ?? 0 }]))
    const { client, publisher, all } = await collectUntilMark(context, bus.url, filters)
    for (const sent of qualities) await publisher.publishAsync('TopicA/C', 'overlapping', { qos: sent })
    await publisher.publishAsync('TopicB', 'one', { qos: 2 })
    assert.deepEqual(
      (await all()).map(({ topic, qos: arrived }) => [topic, arrived]),
      [
        ['TopicA/C', 0],
        ['TopicA/C', 1],
        ['TopicA/C', 2],
        ['TopicB', 0],
      ],
      order.join(' '),
    )
    await client.endAsync()
  }
})

test('A filter with a wildcard gets no message with more QoS than was granted, retained ones neither', async (context) => {
  const bus = await startBus(context)
  const early = await connect(context, bus.url)
  await early.publishAsync('x/kept', 'kept', { qos: 2, retain: true })
  const client = await connect(context, bus.url)
  const received = collect(client)
  assert.equal((await client.subscribeAsync('x/#', { qos: 1 }))[0]?.qos, 1)
  await received.take(1)
  for (const qos of qualities) await early.publishAsync('x/live', 'live', { qos })
  assert.deepEqual(
    (await received.take(4)).map(({ text, qos }) => [text, qos]),
    [
      ['kept', 1],
      ['live', 0],
      ['live', 1],
      ['live', 1],
    ],
  )
})

test('What reached a client by two of its filters still waits for its confirmation', async (context) => {
  const bus = await startBus(context)
  const options = { id: 'double', clean: false }
  const first = await connectRaw(context, bus.url, options)
  first.send(subscribePacket(1, ['x/#', 1], ['x/+', 1]))
  await first.expect('suback')
  const publisher = await connect(context, bus.url)
  for (const payload of ['one', 'two']) await publisher.publishAsync('x/y', payload, { qos: 1 })
  for (const payload of ['one', 'two'])
    assert.equal(publishedIn(await first.expect('publish')).payload, payload)
  await first.vanish()
  const again = await connectRaw(context, bus.url, options)
  for (const payload of ['one', 'two']) {
    const { dup, ...message } = publishedIn(await again.expect('publish'))
    assert.deepEqual([message.payload, dup], [payload, true])
  }
})

test('Keepalive: who is silent for one and a half times as long is cut off, and its will is published', async (context) => {
  const bus = await startBus(context)
  const watcher = await connect(context, bus.url)
  const received = collect(watcher)
  await watcher.subscribeAsync('will')
  const will = { topic: 'will', payload: 'silent', qos: 1, retain: false }
  const silent = await connectRaw(context, bus.url, { id: 'silent', clean: true, keepalive: 1, will })
  await silent.ended
  assert.equal((await received.take(1))[0]?.text, 'silent')
})

test('Redelivery: what was not confirmed comes again after a reconnect, marked as such; with QoS 2 exactly once', async (context) => {
  const bus = await startBus(context)
  const options = { id: 'paused', clean: false }
  const paused = await connectRaw(context, bus.url, options)
  paused.send(subscribePacket(1, ['TopicA/#', 2]))
  await paused.expect('suback')
  const publisher = await connect(context, bus.url)
  await publisher.publishAsync('TopicA/1', 'one', { qos: 1 })
  await publisher.publishAsync('TopicA/2', 'two', { qos: 2 })
  await publisher.publishAsync('TopicA/2', 'three', { qos: 2 })
  const sent = []
  for (let count = 0; count < 3; count += 1) sent.push(publishedIn(await paused.expect('publish')))
  const [one, two, three] = sent
  assert.ok(one && two && three)
  paused.send(acknowledgePacket('pubrec', two.id))
  assert.equal(idIn(await paused.expect('pubrel')), two.id)
  await paused.vanish()

  const again = await connectRaw(context, bus.url, options)
  assert.deepEqual(publishedIn(await again.expect('publish')), { ...one, dup: true })
  assert.equal(idIn(await again.expect('pubrel')), two.id)
  assert.deepEqual(publishedIn(await again.expect('publish')), { ...three, dup: true })
  again.send(
    acknowledgePacket('puback', one.id),
    acknowledgePacket('pubcomp', two.id),
    acknowledgePacket('pubrec', three.id),
  )
  assert.equal(idIn(await again.expect('pubrel')), three.id)
  again.send(acknowledgePacket('pubcomp', three.id), Buffer.from([0xc0, 0]))
  await again.expect('pingresp')
  await again.vanish()
  const last = await connectRaw(context, bus.url, options)
  await publisher.publishAsync('TopicA/3', 'nothing else waits', { qos: 1 })
  assert.equal(publishedIn(await last.expect('publish')).topic, 'TopicA/3')
})

test('A message of QoS 2 that a client repeats before it has released it is published once', async (context) => {
  const bus = await startBus(context)
  const { all } = await collectUntilMark(context, bus.url, { once: { qos: 2 } })
  const options = { id: 'again', clean: false }
  const message = { topic: 'once', payload: 'x', qos: 2, id: 7 } as const
  const first = await connectRaw(context, bus.url, options)
  first.send(publishPacket(message))
  assert.equal(idIn(await first.expect('pubrec')), 7)
  await first.vanish()
  const second = await connectRaw(context, bus.url, options)
  second.send(publishPacket({ ...message, dup: true }))
  assert.equal(idIn(await second.expect('pubrec')), 7)
  second.send(acknowledgePacket('pubrel', 7))
  await second.expect('pubcomp')
  second.send(publishPacket(message))
  await second.expect('pubrec')
  assert.equal((await all()).length, 2)
})

test('Who is not let in has no message of QoS 2 published once more that another one with this id has not released', async (context) => {
  const bus = await startBus(context, { token: 'right' })
  const received = await collectFromBus(bus, 'once')
  const options = { id: 'again', clean: false, password: 'right' }
  const message = { topic: 'once', payload: 'x', qos: 2, id: 7 } as const
  const first = await connectRaw(context, bus.url, options)
  first.send(publishPacket(message))
  assert.equal(idIn(await first.expect('pubrec')), 7)
  await first.vanish()
  const stranger = await openRaw(context, bus.url)
  stranger.send(connectPacket({ id: 'again', clean: true, password: 'wrong' }))
  assert.notEqual((await stranger.expect('connack')).body[1], 0)
  await stranger.ended
  const second = await connectRaw(context, bus.url, options)
  second.send(publishPacket({ ...message, dup: true }))
  await second.expect('pubrec')
  second.send(publishPacket({ ...message, payload: 'y', id: 8 }))
  assert.deepEqual((await received.take(2)).map(textOf), ['once x', 'once y'])
})

test('A subscription that is refused is told with 128, the others of its request are made', async (context) => {
  const bus = await startBus(context)
  const client = await connectRaw(context, bus.url, { id: 'c', clean: true })
  client.send(subscribePacket(5, ['allowed', 2], ['$SYS/#', 2], ['also', 0]))
  assert.deepEqual([...(await client.expect('suback')).body], [0, 5, 2, 128, 0])
})

test('A topic with a $ in front is found by its name, and by no wildcard in its place', async (context) => {
  const bus = await startBus(context)
  const { publisher, all } = await collectUntilMark(context, bus.url, {
    '#': { qos: 2 },
    '+/x': { qos: 2 },
    '$own/#': { qos: 2 },
  })
  for (const topic of ['$own/x', '$other/x', 'own/x']) await publisher.publishAsync(topic, topic, { qos: 2 })
  assert.deepEqual(
    (await all()).map(({ topic }) => topic),
    ['$own/x', 'own/x'],
  )
})

test('After it has unsubscribed a client gets nothing more on that filter, and all on the others', async (context) => {
  const bus = await startBus(context)
  const { client, publisher, all } = await collectUntilMark(context, bus.url, {
    TopicA: { qos: 2 },
    'TopicA/B': { qos: 2 },
    TopicC: { qos: 2 },
  })
  await client.unsubscribeAsync('TopicA')
  for (const topic of ['TopicA', 'TopicA/B', 'TopicC']) await publisher.publishAsync(topic, '', { qos: 1 })
  assert.deepEqual(
    (await all()).map(({ topic }) => topic),
    ['TopicA/B', 'TopicC'],
  )
})

test('A client without an id gets one, if its session ends with the connection; otherwise it is refused', async (context) => {
  const bus = await startBus(context)
  const ids = await Promise.all([1, 2].map(() => connectRaw(context, bus.url, { id: '', clean: true })))
  for (const client of ids) client.send(Buffer.from([0xc0, 0]))
  for (const client of ids) await client.expect('pingresp')
  assert.equal(bus.clients, 2, 'each has an id of its own')
  for (const options of [
    { id: '', clean: false },
    { id: '', clean: true, protocol: { name: 'MQIsdp', level: 3 } },
  ]) {
    const refused = await openRaw(context, bus.url)
    refused.send(connectPacket(options))
    assert.deepEqual([...(await refused.expect('connack')).body], [0, 2])
    await refused.ended
  }
  assert.equal(bus.clients, 2)
})

test('A client that is let in with clean on begins anew; one that is not changes nothing', async (context) => {
  const bus = await startBus(context, { token: 'right' })
  const publisher = await connect(context, bus.url, { username: 'x', password: 'right' })
  const options = { clientId: 'mine', clean: false, username: 'x', password: 'right' }
  const first = await connect(context, bus.url, options)
  await first.subscribeAsync('x', { qos: 1 })
  await first.endAsync()
  await publisher.publishAsync('x', 'one', { qos: 1 })
  await assert.rejects(connect(context, bus.url, { ...options, clean: true, password: 'wrong' }))
  const second = connectListening(context, bus.url, options)
  assert.equal((await second.received.take(1))[0]?.text, 'one')
  await second.client.endAsync()
  await publisher.publishAsync('x', 'two', { qos: 1 })
  const clean = await connect(context, bus.url, { ...options, clean: true })
  await clean.endAsync()
  const { client: last, received } = connectListening(context, bus.url, options)
  await last.subscribeAsync('mark', { qos: 1 })
  await publisher.publishAsync('mark', 'mark', { qos: 1 })
  assert.equal((await received.take(1))[0]?.text, 'mark')
})
