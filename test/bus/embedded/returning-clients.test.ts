import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test, type TestContext } from 'node:test'
import { silentLogger } from '../../../src/base/log/log.ts'
import { createGuessLimit } from '../../../src/base/network/guess-limit.ts'
import { systemClock } from '../../../src/base/time/clock.ts'
import {
  createEmbeddedBroker,
  type EmbeddedBrokerSettings,
} from '../../../src/bus/embedded/embedded-broker.ts'
import { sessionQueueLimit } from '../../../src/bus/store/broker-sessions.ts'
import { listen } from '../../helpers/listen.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { until } from '../../helpers/until.ts'
import { collectFromBus, startBus, textOf } from '../bus-fixture.ts'
import { createKeptBus, silentDisk, untilOnDisk } from '../kept-bus.ts'
import {
  acknowledgePacket,
  connectPacket,
  connectRaw,
  openRaw,
  publishedIn,
  publishPacket,
  type RawClient,
  subscribePacket,
} from '../raw-client.ts'

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

/** The broker by itself, on a free port. */
async function startBroker(context: TestContext, disk?: EmbeddedBrokerSettings['disk']) {
  const clock = systemClock
  const warn = (): void => undefined
  const guesses = createGuessLimit({ clock, warn })
  const { broker, store, take } = createEmbeddedBroker({
    ...{ root: 'host', guesses, disk, connectTimeout: 10_000, clock },
    ...{ forwards: () => undefined, publishWill: () => undefined, warn },
    logger: silentLogger,
  })
  await broker.listen()
  const server = createServer((socket) => take(socket, '127.0.0.1'))
  context.after(async () => {
    await new Promise<void>((resolve) => broker.close(resolve))
    await store.destroy()
    server.close()
  })
  return { broker, url: `mqtt://127.0.0.1:${await listen(server)}` }
}

test('What is published in the very moment in which all that had waited has gone comes last', async (context) => {
  const { broker, url } = await startBroker(context)
  const publish = (payload: string): void =>
    broker.publish(
      { cmd: 'publish', topic: 'order', payload: Buffer.from(payload), qos: 1, retain: false, dup: false },
      () => undefined,
    )
  const session = { id: 'returns', clean: false }
  const before = await connectRaw(context, url, session)
  before.send(subscribePacket(1, ['order', 1]))
  await before.expect('suback')
  await new Promise<void>((resolve) => {
    broker.once('clientDisconnect', () => resolve())
    before.socket.destroy()
  })
  const waiting = Array.from({ length: 300 }, (_, number) => `${number}`)
  for (const payload of waiting) publish(payload)
  const ready = new Promise<void>((resolve) => {
    broker.once('clientReady', () => {
      publish('last')
      resolve()
    })
  })
  const back = await connectRaw(context, url, session)
  const heard = [publishedIn(await back.expect('publish')).payload]
  publish('meanwhile')
  await ready
  publish('later')
  while (heard.at(-1) !== 'later') heard.push(publishedIn(await back.expect('publish')).payload)
  assert.deepEqual(heard, [...waiting, 'meanwhile', 'last', 'later'])
})

test('The will of a client that has taken the place of its own connection before outlives a kill of the process', async (context) => {
  const { directory, start, copy } = await createKeptBus(context)
  const bus = await start()
  const client = (payload: string) =>
    connectRaw(context, bus.url, {
      id: 'device',
      clean: true,
      will: { topic: 'device/status', payload, qos: 1, retain: true },
    })
  const first = await client('first')
  await client('second')
  await first.ended
  const other = await connectRaw(context, bus.url, { id: 'other', clean: true })
  other.send(publishPacket({ topic: 'mark', payload: 'all of this', qos: 1, retain: true }))
  await other.expect('puback')
  await untilOnDisk(directory, 'all of this')
  const next = await start({}, await copy())
  const heard = await collectFromBus(next, 'device/status')
  assert.deepEqual((await heard.take(1)).map(textOf), ['device/status second'])
})

test('A connection that ends just when its client connects anew does not make the broker forget the new one', async (context) => {
  const bus = await startBus(context)
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const old = await connectRaw(context, bus.url, { id: 'device', clean: true })
    old.send(subscribePacket(1, ['one', 0], ['two', 0]))
    await old.expect('suback')
    const anew = await openRaw(context, bus.url)
    // An answer says that the broker has the connection: then both are heard of in one turn.
    old.send(Buffer.from([0xc0, 0]))
    await old.expect('pingresp')
    anew.send(connectPacket({ id: 'device', clean: true }))
    old.socket.destroy()
    await anew.expect('connack')
    let ended = false
    void anew.ended.then(() => (ended = true))
    const third = await connectRaw(context, bus.url, { id: 'device', clean: true })
    await until('a third connection to end the second', async () => ended, 5_000)
    assert.equal(bus.clients, 1)
    await third.vanish()
  }
})

test('A connection that ends while its will is being written is forgotten, and does not end the one by which its client is back', async (context) => {
  const disk = silentDisk()
  const { broker, url } = await startBroker(context, {
    directory: await temporaryDirectory(context),
    files: disk.files,
  })
  const will = { topic: 'gone', payload: 'x', qos: 1, retain: true }
  let told = 0
  const count = (_will: unknown, done: () => void): void => {
    told += 1
    done()
  }
  broker.subscribe(will.topic, count, () => undefined)
  for (const id of ['device', 'other']) {
    const waiting = await openRaw(context, url)
    waiting.send(connectPacket({ id, clean: true, will }))
    // An answer to who connects later says that the broker has the packet.
    await (await connectRaw(context, url, { id: 'later', clean: true })).vanish()
    await waiting.vanish()
  }
  await until('both wills to be told', async () => told === 2)
  const back = await connectRaw(context, url, { id: 'device', clean: true })
  disk.answer()
  const last = await connectRaw(context, url, { id: 'last', clean: true, will: { ...will, topic: 'last' } })
  back.send(Buffer.from([0xc0, 0]))
  await back.expect('pingresp')
  await last.vanish()
  await until('all but one to be forgotten', async () => broker.connectedClients === 1)
})

test('The number of a message of QoS 2 that has given way to newer ones, and that its client may hold, is not that of the next one', async (context) => {
  const bus = await startBus(context)
  const session = { id: 'slow', clean: false }
  const before = await connectRaw(context, bus.url, session)
  before.send(subscribePacket(1, ['x', 2]))
  await before.expect('suback')
  const leave = async (client: RawClient): Promise<void> => {
    await client.vanish()
    await until('the broker to see that it has gone', async () => bus.clients === 0)
  }
  await leave(before)
  for (let number = 0; number < sessionQueueLimit; number += 1)
    await bus.publish('x', `${number}`, { qos: 2 })
  const back = await connectRaw(context, bus.url, session)
  const held = new Map<number, string>()
  while (held.size < sessionQueueLimit) {
    const { id, payload } = publishedIn(await back.expect('publish'))
    held.set(id, payload)
  }
  await leave(back)
  await bus.publish('x', 'newest', { qos: 2 })
  const again = await connectRaw(context, bus.url, session)
  for (;;) {
    const { id, payload, dup } = publishedIn(await again.expect('publish'))
    assert.equal(held.get(id), dup ? payload : undefined)
    if (payload === 'newest') break
  }
})

for (const qos of [1, 2] as const)
  test(`What was retained and has not been confirmed with QoS ${qos} comes again, also after a restart of the broker`, async (context) => {
    const { directory, start, copy } = await createKeptBus(context)
    const bus = await start()
    const session = { id: 'device', clean: false }
    for (const name of ['a', 'b', 'c']) await bus.publish(`retained/${name}`, name, { qos, retain: true })
    const before = await connectRaw(context, bus.url, session)
    before.send(subscribePacket(1, ['retained/#', qos]))
    await before.expect('suback')
    const first = [1, 2, 3].map(async () => publishedIn(await before.expect('publish')))
    const [confirmed, ...others] = await Promise.all(first)
    assert.equal(new Set([confirmed, ...others].map((one) => one?.id)).size, 3)
    before.send(acknowledgePacket(qos === 1 ? 'puback' : 'pubrec', confirmed?.id ?? 0))
    if (qos === 2) {
      await before.expect('pubrel')
      before.send(acknowledgePacket('pubcomp', confirmed?.id ?? 0))
    }
    before.send(publishPacket({ topic: 'mark', payload: 'all of this', qos: 1, retain: true }))
    await before.expect('puback')
    await untilOnDisk(directory, 'all of this')
    await before.vanish()
    const again = others.map(({ topic, id }) => ({ topic, id, dup: true, retain: true, qos }))
    for (const present of [bus, await start({}, await copy())]) {
      const back = await connectRaw(context, present.url, session)
      await present.publish('retained/new', '', { qos })
      for (const wanted of again) {
        const { topic, id, dup, retain, qos } = publishedIn(await back.expect('publish'))
        assert.deepEqual({ topic, id, dup, retain, qos }, wanted)
      }
      assert.equal(publishedIn(await back.expect('publish')).topic, 'retained/new')
      await back.vanish()
    }
  })
