import assert from 'node:assert/strict'
import { createConnection, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { createClientAddresses } from '../../../src/base/network/client-address.ts'
import { systemClock } from '../../../src/base/time/clock.ts'
import { silentLogger } from '../../../src/base/log/log.ts'
import type { PublishOptions } from '../../../src/bus/bus.ts'
import { createEmbeddedBus } from '../../../src/bus/embedded/embedded-bus.ts'
import { retainedLimits } from '../../../src/bus/store/retained-ledger.ts'
import {
  collect,
  collectFromBus,
  connect,
  connectListening,
  createRecordingLogger,
  lines,
  startBus,
  startUpgradeServer,
  textOf,
} from '../bus-fixture.ts'
import { freePort } from '../../helpers/free-port.ts'
import { listen } from '../../helpers/listen.ts'

test('A client over TCP and one over WebSocket exchange messages with each other and with the host', async (t) => {
  const bus = await startBus(t)
  const overTcp = await connect(t, bus.url)
  const overWebSocket = await connect(t, await startUpgradeServer(t, bus))
  const atTcp = collect(overTcp)
  const atWebSocket = collect(overWebSocket)
  const atHost = await collectFromBus(bus, 'house/#')
  await overTcp.subscribeAsync('house/#')
  await overWebSocket.subscribeAsync('house/+')

  await overTcp.publishAsync('house/a', '1', { qos: 1 })
  await overWebSocket.publishAsync('house/b', '2', { qos: 1 })
  // The broker acknowledges before it delivers.
  await atHost.take(2)
  await bus.publish('house/c', '3')

  const expected = ['house/a 1', 'house/b 2', 'house/c 3']
  assert.deepEqual(lines(await atTcp.take(3)), expected)
  assert.deepEqual(lines(await atWebSocket.take(3)), expected)
  assert.deepEqual((await atHost.take(3)).map(textOf), expected)
  assert.equal(bus.clients, 2)
  assert.equal(bus.connected, true)
})

test('The status is retained: online while the bus runs, offline as its last word', async (t) => {
  const bus = await startBus(t, { root: 'house/lupine' })
  const client = await connect(t, bus.url)
  const received = collect(client)
  await client.subscribeAsync('house/lupine/status')
  assert.deepEqual(
    await received.take(1),
    [{ topic: 'house/lupine/status', text: 'online', qos: 1, retain: true }].map((message) => ({
      ...message,
      qos: received.all[0]?.qos ?? -1,
    })),
  )
  await bus.close()
  assert.deepEqual(lines(await received.take(2)), [
    'house/lupine/status online',
    'house/lupine/status offline',
  ])
})

for (const qos of [0, 1, 2] as const) {
  test(`A refused publish of QoS ${qos} is acknowledged, delivered to nobody and does not cut the client off`, async (t) => {
    const bus = await startBus(t)
    const client = await connect(t, bus.url)
    const received = collect(client)
    const atHost = await collectFromBus(bus, '#')
    await client.subscribeAsync('#')
    await received.take(1)
    for (const topic of ['host/status', 'host', 'host/plugins/@a/b/state', '$SYS/x']) {
      await client.publishAsync(topic, 'forged', { qos, retain: true })
    }
    await client.publishAsync('free', 'yes', { qos })
    assert.deepEqual(lines(await received.take(2)), ['host/status online', 'free yes'])
    assert.deepEqual((await atHost.take(2)).map(textOf), ['host/status online', 'free yes'])
    const later = await collectFromBus(bus, 'host/#')
    await bus.publish('host/end', '')
    assert.deepEqual((await later.take(2)).map(textOf), ['host/status online', 'host/end '])
  })
}

test('A last will to a forbidden topic is not published, an allowed one is', async (t) => {
  const bus = await startBus(t)
  const atHost = await collectFromBus(bus, '#')
  for (const topic of ['host/status', 'bad/#', 'rooms/kitchen']) {
    const payload = Buffer.from('gone')
    const client = await connect(t, bus.url, { will: { topic, payload, qos: 1, retain: true } })
    // Without a DISCONNECT, as when the power fails.
    client.stream.destroy()
  }
  assert.deepEqual((await atHost.take(2)).map(textOf), ['host/status online', 'rooms/kitchen gone'])
  await bus.publish('end', '')
  assert.deepEqual((await atHost.take(3)).map(textOf).slice(2), ['end '])
})

test('Nobody can subscribe to the broker’s internals, and a refused filter does not spoil the others', async (t) => {
  const bus = await startBus(t)
  const client = await connect(t, bus.url)
  const granted = await client
    .subscribeAsync(['$SYS/#', 'open/#'])
    .catch((error: unknown) => (error as { packet?: { granted: number[] } }).packet?.granted)
  assert.deepEqual(granted, [128, 0])
  const received = collect(client)
  await connect(t, bus.url)
  await bus.publish('open/door', 'yes')
  assert.deepEqual(lines(await received.take(1)), ['open/door yes'])
})

test('With a token only its bearer connects, whatever the user name, and the log says which device was refused', async (t) => {
  const logger = createRecordingLogger()
  const bus = await startBus(t, { token: 'open sesame', logger })
  for (const password of [undefined, '', 'open sesam', 'open sesame2']) {
    await assert.rejects(
      mqtt.connectAsync(
        bus.url,
        {
          ...{ reconnectPeriod: 0, username: 'x', clientId: 'tasmota' },
          ...(password === undefined ? {} : { password }),
        },
        false,
      ),
      /Bad username or password/,
    )
  }
  assert.deepEqual(logger.lines[0]?.fields, { client: 'tasmota', address: '127.0.0.1' })
  const client = await connect(t, bus.url, { username: 'anyone', password: 'open sesame' })
  assert.equal(client.connected, true)
})

test('Retained and plain messages arrive in the order in which they were published, and all of them', async (t) => {
  const bus = await startBus(t)
  const subscriber = await connect(t, bus.url)
  const received = collect(subscriber)
  await subscriber.subscribeAsync('x/#', { qos: 1 })
  const expected: string[] = []
  for (let number = 0; number < 300; number += 1) {
    expected.push(`x/${number % 3} ${number}`)
    const options: PublishOptions = { qos: number % 3 === 0 ? 1 : 0, retain: number % 2 === 0 }
    void bus.publish(`x/${number % 3}`, String(number), options)
  }
  assert.deepEqual(lines(await received.take(300)), expected)
})

test('A client’s retained message is not lost when a plain one follows in the same packet of the network', async (t) => {
  const bus = await startBus(t)
  const subscriber = await connect(t, bus.url)
  const publisher = await connect(t, bus.url)
  const received = collect(subscriber)
  await subscriber.subscribeAsync('x/#')
  publisher.stream.cork()
  publisher.publish('x/1', 'retained', { retain: true })
  publisher.publish('x/2', 'plain')
  publisher.stream.uncork()
  assert.deepEqual(lines(await received.take(2)), ['x/1 retained', 'x/2 plain'])
})

test('Host subscriptions get retained messages first and flagged, each its own copy, also with overlapping filters', async (t) => {
  const bus = await startBus(t)
  const bytes = Uint8Array.from([0, 255, 128, 10])
  await bus.publish('data/raw', bytes, { retain: true, qos: 1 })
  bytes.fill(7)
  const one = await collectFromBus(bus, 'data/raw')
  const two = await collectFromBus(bus, 'data/+')
  await bus.publish('data/raw', 'live')
  const expected = [
    { topic: 'data/raw', payload: Uint8Array.from([0, 255, 128, 10]), qos: 1, retained: true },
    { topic: 'data/raw', payload: Uint8Array.from(Buffer.from('live')), qos: 0, retained: false },
  ]
  assert.deepEqual(await one.take(2), expected)
  assert.deepEqual(await two.take(2), expected)
  assert.notEqual(one.all[0]?.payload, two.all[0]?.payload)
})

test('A subscriber never gets a retained message after the one that replaced it', async (t) => {
  const bus = await startBus(t)
  const count = 60
  for (let number = 0; number < count; number += 1) await bus.publish(`x/${number}`, 'old', { retain: true })
  const client = await connect(t, bus.url)
  const newest = new Map<string, string>()
  const replaced = new Promise<void>((resolve) => {
    client.on('message', (topic, payload) => {
      // The first retained messages are here, the others under way.
      if (newest.size === 0) {
        for (let number = 0; number < count; number += 1) {
          void bus.publish(`x/${number}`, 'new', { retain: true })
        }
        void bus.publish('x/end', '')
      }
      newest.set(topic, payload.toString())
      if (newest.size === count + 1) resolve()
    })
  })
  await client.subscribeAsync('x/#')
  await replaced
  // Acknowledged after everything that was sent before.
  const late = collect(client)
  await bus.publish('x/late', '')
  await late.take(1)
  for (let number = 0; number < count; number += 1) assert.equal(newest.get(`x/${number}`), 'new')
})

test('A retained message is forgotten with an empty one', async (t) => {
  const bus = await startBus(t)
  await bus.publish('x', 'kept', { retain: true })
  await bus.publish('x', '', { retain: true })
  const received = await collectFromBus(bus, 'x')
  await bus.publish('x', 'live')
  assert.deepEqual(
    (await received.take(1)).map((message) => [textOf(message), message.retained]),
    [['x live', false]],
  )
})

test('A closed subscription gets nothing more, not even what was already under way', async (t) => {
  const bus = await startBus(t)
  const closed = await collectFromBus(bus, 'x')
  const open = await collectFromBus(bus, 'x')
  const published = bus.publish('x', '1')
  const closing = closed.subscription.close()
  await Promise.all([published, closing, closed.subscription.close()])
  await bus.publish('x', '2')
  assert.deepEqual((await open.take(2)).map(textOf), ['x 1', 'x 2'])
  assert.deepEqual(closed.all, [])
})

test('A handler that throws is logged, and a handler that publishes comes after the message it answers', async (t) => {
  const logger = createRecordingLogger()
  const bus = await startBus(t, { logger })
  await bus.subscribe('question', () => {
    void bus.publish('answer', '42')
    throw new Error('handler went wrong')
  })
  const client = await connect(t, bus.url)
  const received = collect(client)
  await client.subscribeAsync(['question', 'answer'])
  await bus.publish('question', '?')
  assert.deepEqual(lines(await received.take(2)), ['question ?', 'answer 42'])
  assert.deepEqual(
    logger.lines.filter(({ level }) => level === 'error'),
    [
      {
        level: 'error',
        message: 'A handler of MQTT messages failed',
        fields: { topic: 'question', reason: 'handler went wrong' },
      },
    ],
  )
})

test('What is not a topic or a filter is refused with the reason', async (t) => {
  const bus = await startBus(t)
  await assert.rejects(bus.publish('a/#', ''), { code: 'body_invalid', message: /"a\/#" is not a topic/ })
  await assert.rejects(bus.publish('x'.repeat(70_000), ''), { code: 'body_invalid' })
  await assert.rejects(
    bus.subscribe('a/#/b', () => undefined),
    { code: 'body_invalid', message: /"a\/#\/b" is not a topic filter/ },
  )
})

test('A session with clean off gets what it missed, in order, and only with QoS', async (t) => {
  const bus = await startBus(t)
  const options = { clientId: 'sleeper', clean: false }
  const first = await connect(t, bus.url, options)
  await first.subscribeAsync('news/#', { qos: 1 })
  await first.endAsync()
  await bus.publish('news/1', 'one', { qos: 1 })
  await bus.publish('news/0', 'lost', { qos: 0 })
  await bus.publish('news/2', 'two', { qos: 1 })
  const { received } = connectListening(t, bus.url, options)
  await received.take(2)
  await bus.publish('news/3', 'three', { qos: 1 })
  assert.deepEqual(lines(await received.take(3)), ['news/1 one', 'news/2 two', 'news/3 three'])
})

test('A client that announces too large a packet is cut off, and the others go on', async (t) => {
  const bus = await startBus(t)
  const witness = await connect(t, bus.url)
  const client = await connect(t, bus.url)
  const closed = new Promise<void>((resolve) => client.once('close', () => resolve()))
  client.publish('x', Buffer.alloc(3 * 1024 * 1024))
  await closed
  const received = collect(witness)
  await witness.subscribeAsync('x')
  await bus.publish('x', 'still here')
  assert.deepEqual(lines(await received.take(1)), ['x still here'])
})

test('A port in use is told with the setting that helps, and nothing stays behind', async (t) => {
  const other = createServer()
  const port = await listen(other)
  t.after(() => other.close())
  const bus = createEmbeddedBus({
    bind: '127.0.0.1',
    port,
    root: 'host',
    logger: silentLogger,
    clock: systemClock,
  })
  await assert.rejects(bus.start(), {
    message: `MQTT port ${port} at 127.0.0.1 is in use: set HOST_MQTT_PORT to another one, or to 0 for any free port`,
  })
  await bus.close()
})

test('Closing ends every connection, twice is once, and afterwards nothing is published or left', async (t) => {
  // Whoever asks for any port does not get this one when it is free again.
  const bus = await startBus(t, { port: await freePort() })
  const client = await connect(t, bus.url)
  const overWebSocket = await connect(t, await startUpgradeServer(t, bus))
  const silent = await new Promise<Socket>((resolve) => {
    const socket = createConnection(Number(new URL(bus.url).port), '127.0.0.1', () => resolve(socket))
  })
  const ended = [client, overWebSocket].map(
    (one) => new Promise<void>((resolve) => one.once('close', () => resolve())),
  )
  const silentEnded = new Promise((resolve) => silent.once('close', resolve))
  await Promise.all([bus.close(), bus.close()])
  await Promise.all([...ended, silentEnded])
  assert.equal(bus.connected, false)
  assert.equal(bus.clients, 0)
  await assert.rejects(bus.publish('x', ''), { code: 'shutting_down' })
  await assert.rejects(
    bus.subscribe('x', () => undefined),
    { code: 'shutting_down' },
  )
  await assert.rejects(mqtt.connectAsync(bus.url, { reconnectPeriod: 0 }, false), /ECONNREFUSED/)
})

test('An upgrade that does not ask for MQTT is refused', async (t) => {
  const bus = await startBus(t)
  const url = await startUpgradeServer(t, bus)
  const { WebSocket } = await import('ws')
  const status = await new Promise((resolve) => {
    const socket = new WebSocket(url, 'chat')
    socket.on('unexpected-response', (_request, response) => resolve(response.statusCode))
    socket.on('error', () => undefined)
  })
  assert.equal(status, 400)
})

test('A command is delivered but never retained, whoever says so, also as a will', async (t) => {
  const bus = await startBus(t)
  const host = await collectFromBus(bus, 'host/#')
  const set = 'host/plugins/@a/b/controls/lamp/set'
  const will = { topic: set, payload: Buffer.from('will'), qos: 1, retain: true } as const
  const client = await connect(t, bus.url, { will })
  for (const topic of ['host/request/list', set]) {
    await client.publishAsync(topic, 'now', { qos: 1, retain: true })
  }
  client.stream.destroy()
  const [status, ...commands] = (await host.take(4)).map(textOf)
  assert.equal(status, 'host/status online')
  assert.deepEqual(commands, ['host/request/list now', `${set} now`, `${set} will`])
  const late = await collectFromBus(bus, '#')
  assert.deepEqual((await late.take(1)).map(textOf), ['host/status online'])
  await bus.publish('end', 'x')
  assert.deepEqual((await late.take(2)).map(textOf), ['host/status online', 'end x'])
})

test('A client that retains without end is told of, takes no room of others, and leaves no old value behind', async (t) => {
  const logger = createRecordingLogger()
  // Another address than the one from which the others come.
  const bus = await startBus(t, { logger, addresses: createClientAddresses(['127.0.0.1']) })
  const greedy = await connect(t, await startUpgradeServer(t, bus), {
    wsOptions: { headers: { 'X-Forwarded-For': '192.0.2.7' } },
  })
  const other = await connect(t, bus.url)
  const { topics } = retainedLimits.address
  await greedy.publishAsync('greedy/first', 'old', { retain: true, qos: 1 })
  const all = Array.from({ length: topics + 20 }, (_, index) =>
    greedy.publishAsync(`greedy/${index}`, 'x', { retain: true, qos: 1 }),
  )
  await Promise.all(all)
  // No room for a larger one either: what was there is not true any more.
  const large = Buffer.alloc(1024 * 1024)
  for (let index = 0; index < 40; index += 1)
    await greedy.publishAsync(`greedy/${index}`, large, { retain: true, qos: 1 })
  await other.publishAsync('other/1', 'x', { retain: true, qos: 1 })
  await bus.publish('plugin/1', 'x', { retain: true, publisher: '@a/one' })
  await bus.publish('host/something', 'x', { retain: true })
  const seen = await collectFromBus(bus, '#')
  await bus.publish('end', '')
  while (seen.all.at(-1)?.topic !== 'end') await seen.take(seen.all.length + 1)
  const retained = seen.all.filter(({ retained }) => retained)
  const ofGreedy = retained.filter(({ topic }) => topic.startsWith('greedy/'))
  const bytes = ofGreedy.reduce((sum, { topic, payload }) => sum + topic.length + payload.length, 0)
  assert.ok(ofGreedy.length <= topics, `${ofGreedy.length} topics`)
  assert.ok(bytes <= retainedLimits.address.bytes, `${bytes} bytes`)
  assert.ok(!ofGreedy.some(({ topic }) => topic === 'greedy/39'), 'an old value stayed')
  const others = retained.map(({ topic }) => topic).filter((topic) => !topic.startsWith('greedy/'))
  assert.deepEqual(others.sort(), ['host/something', 'host/status', 'other/1', 'plugin/1'])
  assert.ok(bus.mayBeRetainedBy('@a/one', 'plugin/1'))
  assert.ok(!bus.mayBeRetainedBy('@a/one', 'other/1'))
  await other.publishAsync('plugin/1', 'mine', { retain: true, qos: 1 })
  assert.ok(!bus.mayBeRetainedBy('@a/one', 'plugin/1'))
  const told = logger.lines.filter(({ message }) => message.includes('not retained'))
  assert.deepEqual(told[0]?.fields?.publisher, { kind: 'client', address: '192.0.2.7' })
})
