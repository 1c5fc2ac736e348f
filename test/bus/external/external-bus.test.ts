import assert from 'node:assert/strict'
import { createServer, Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../../src/base/time/clock.ts'
import type { BusMessage } from '../../../src/bus/bus.ts'
import { createExternalBus } from '../../../src/bus/external/external-bus.ts'
import {
  collect,
  collectFromBus,
  connect,
  createRecordingLogger,
  lines,
  startBothWays,
  startBus,
  startUpgradeServer,
  textOf,
  ways,
} from '../bus-fixture.ts'
import { waitingMessagesLimit } from '../../../src/bus/external/outgoing-queue.ts'
import { listen } from '../../helpers/listen.ts'
import { createTcpProxy } from '../../helpers/tcp-proxy.ts'
import { until } from '../../helpers/until.ts'
import { createMosquitto, mosquittoMissing, startMosquitto } from '../mosquitto.ts'

const options = { skip: mosquittoMissing }
/** Retries come soon, so that tests do not wait; the delays themselves are tested as a function. */
const hurriedClock = {
  ...systemClock,
  schedule: (milliseconds: number, callback: () => void) =>
    systemClock.schedule(Math.min(milliseconds, milliseconds >= 2_000 ? milliseconds : 20), callback),
}

function createBus(t: TestContext, url: string) {
  const logger = createRecordingLogger()
  const bus = createExternalBus({
    url,
    root: 'host',
    logger,
    clock: hurriedClock,
    random: () => 0,
  })
  t.after(() => bus.close())
  return { bus, logger }
}

async function startOnMosquitto(t: TestContext, config?: string[]) {
  const mosquitto = await startMosquitto(t, config)
  const { bus, logger } = createBus(t, mosquitto.url)
  await bus.start()
  return { mosquitto, bus, logger }
}

function onceReconnected(bus: { onReconnect(listener: () => void): () => void }): Promise<void> {
  return new Promise((resolve) => {
    const stop = bus.onReconnect(() => {
      stop()
      resolve()
    })
  })
}

test(
  'Over an external broker the host publishes, receives, and says when it comes and goes',
  options,
  async (t) => {
    const { mosquitto, bus } = await startOnMosquitto(t)
    assert.equal(bus.connected, true)
    assert.equal(bus.url, mosquitto.url)
    const client = await connect(t, mosquitto.url)
    const received = collect(client)
    await client.subscribeAsync('#', { qos: 1 })
    await received.take(1)
    const atHost = await collectFromBus(bus, 'in/#')
    await bus.publish('out/a', Uint8Array.from([1, 2]), { qos: 1 })
    // It came after the subscription, on the same connection.
    await received.take(2)
    await client.publishAsync('in/raw', Buffer.from([0, 255]), { qos: 1 })
    assert.deepEqual(await atHost.take(1), [
      { topic: 'in/raw', payload: Uint8Array.from([0, 255]), qos: 1, retained: false },
    ])
    // Its own status has come back to it.
    assert.deepEqual(bus.messages, { received: 2, published: 1 })
    await bus.close()
    assert.equal(bus.connected, false)
    assert.deepEqual(lines(await received.take(4)), [
      'host/status online',
      'out/a \u0001\u0002',
      `in/raw ${Buffer.from([0, 255]).toString()}`,
      'host/status offline',
    ])
    await assert.rejects(bus.publish('x', ''), { code: 'shutting_down' })
    const later = await connect(t, mosquitto.url)
    const retained = collect(later)
    await later.subscribeAsync('host/status')
    assert.deepEqual(await retained.take(1), [
      { topic: 'host/status', text: 'offline', qos: 0, retain: true },
    ])
  },
)

test(
  'A host whose connection breaks is reported offline by the broker, and online again when it is back',
  options,
  async (t) => {
    const mosquitto = await startMosquitto(t)
    const way = await createTcpProxy(t, mosquitto.url)
    const { bus } = createBus(t, `mqtt://127.0.0.1:${way.port}`)
    await bus.start()
    const client = await connect(t, mosquitto.url)
    const received = collect(client)
    await client.subscribeAsync('host/status')
    await received.take(1)
    way.refuse()
    way.pass()
    assert.deepEqual(lines(await received.take(3)), [
      'host/status online',
      'host/status offline',
      'host/status online',
    ])
  },
)

test(
  'Overlapping and equal filters each get every message once, and retained ones only for themselves',
  options,
  async (t) => {
    const { bus } = await startOnMosquitto(t)
    await bus.publish('data/x', 'kept', { retain: true, qos: 1 })
    const exact = await collectFromBus(bus, 'data/x')
    await exact.take(1)
    const wide = await collectFromBus(bus, 'data/#')
    await wide.take(1)
    const again = await collectFromBus(bus, 'data/x')
    await again.take(1)
    await bus.publish('data/x', 'live', { qos: 1 })
    await bus.publish('data/x', 'end', { qos: 0 })
    for (const one of [exact, wide, again]) {
      const messages = await one.take(3)
      assert.deepEqual(
        messages.map((message) => [textOf(message), message.retained]),
        [
          ['data/x kept', true],
          ['data/x live', false],
          ['data/x end', false],
        ],
      )
    }
    await again.subscription.close()
    await wide.subscription.close()
    await bus.publish('data/x', 'for one')
    await exact.take(4)
    assert.deepEqual(
      [exact, wide, again].map(({ all }) => all.length),
      [4, 3, 3],
    )
  },
)

test(
  'When the broker comes back, subscriptions are restored and what waited arrives in order',
  options,
  async (t) => {
    const { mosquitto, bus } = await startOnMosquitto(t)
    const atHost = await collectFromBus(bus, 'news/#')
    await bus.publish('news/0', 'before', { qos: 1 })
    await atHost.take(1)
    const reconnected = onceReconnected(bus)
    await mosquitto.kill()
    // What is written to a connection that is already dead is lost with QoS 0, as it may be.
    await until('the end of the connection', async () => !bus.connected)
    assert.notEqual(bus.fault, undefined)
    const expected = ['news/0 before']
    for (let number = 1; number <= 200; number += 1) {
      expected.push(`news/${number} waiting`)
      await bus.publish(`news/${number}`, 'waiting', {
        qos: number % 3 === 0 ? 1 : 0,
        retain: number % 5 === 0,
      })
    }
    await mosquitto.start()
    await reconnected
    assert.deepEqual([bus.connected, bus.fault], [true, undefined])
    assert.deepEqual((await atHost.take(201)).map(textOf), expected)
  },
)

test(
  'In the middle of traffic a restart of the broker loses no message of QoS 1 and keeps the order',
  options,
  async (t) => {
    const { mosquitto, bus } = await startOnMosquitto(t)
    const atHost = await collectFromBus(bus, 'count')
    const total = 3_000
    let reconnected: Promise<void> | undefined
    for (let number = 0; number < total; number += 1) {
      await bus.publish('count', String(number), { qos: 1 })
      if (number === total / 2) {
        await atHost.take(10)
        reconnected = onceReconnected(bus)
        await mosquitto.kill()
        await mosquitto.start()
      }
    }
    await reconnected
    await bus.publish('count', 'end', { qos: 1 })
    const isEnd = ({ payload }: BusMessage): boolean => Buffer.from(payload).toString() === 'end'
    for (let count = 1; !atHost.all.some(isEnd); count = atHost.all.length + 1) await atHost.take(count)
    const numbers = atHost.all.slice(0, -1).map(({ payload }) => Number(Buffer.from(payload).toString()))
    // What was under way is repeated, but nothing goes backwards by more than that, and nothing is missing
    // except what the broker took to its grave.
    const firstSeen = [...new Set(numbers)]
    assert.deepEqual(
      firstSeen,
      [...firstSeen].sort((one, other) => one - other),
    )
    const afterRestart = firstSeen.filter((number) => number > total / 2)
    assert.equal(afterRestart.length, total / 2 - 1)
  },
)

test('With the credentials of the URL it connects, and shows them nowhere', async (t) => {
  const broker = await startBus(t, { root: 'elsewhere', token: 'p@ss:word' })
  const { bus, logger } = createBus(t, broker.url.replace('//', `//user:${encodeURIComponent('p@ss:word')}@`))
  const atBroker = await collectFromBus(broker, 'a')
  await bus.start()
  await bus.publish('a', '1')
  assert.deepEqual((await atBroker.take(1)).map(textOf), ['a 1'])
  assert.equal(bus.url, broker.url)
  assert.equal(/ss:word|ss%3Aword/.test(JSON.stringify(logger.lines)), false)
})

test('A broker that speaks only MQTT 3.1.1 does as well', async (t) => {
  const broker = await startBus(t, { root: 'elsewhere' })
  const { bus } = createBus(t, broker.url)
  await bus.start()
  const atHost = await collectFromBus(bus, 'a/#')
  const other = await collectFromBus(bus, 'a/b')
  await bus.publish('a/b', '1', { qos: 1 })
  assert.deepEqual((await atHost.take(1)).map(textOf), ['a/b 1'])
  assert.deepEqual((await other.take(1)).map(textOf), ['a/b 1'])
  assert.equal(bus.connected, true)
})

test('A broker over WebSocket does as well', async (t) => {
  const broker = await startBus(t, { root: 'elsewhere' })
  const { bus } = createBus(t, await startUpgradeServer(t, broker))
  const atBroker = await collectFromBus(broker, 'a')
  await bus.start()
  await bus.publish('a', '1')
  assert.deepEqual((await atBroker.take(1)).map(textOf), ['a 1'])
})

for (const way of ways)
  test(`Over ${way} nothing waits until the system of the broker has confirmed what was sent before`, async (t) => {
    const { urls } = await startBothWays(t)
    const prompt = t.mock.method(Socket.prototype, 'setNoDelay')
    const { bus } = createBus(t, urls[way])
    await bus.start()
    assert.equal(bus.connected, true)
    const sockets = prompt.mock.calls.map((call) => ({ ...call, to: (call.this as Socket).remotePort }))
    assert.deepEqual(
      sockets
        .filter(({ to }) => to === Number(new URL(urls[way]).port))
        .map((call) => call.arguments[0] ?? true),
      [true],
    )
  })

test('The query of a WebSocket address goes to the broker, and is shown nowhere', async (t) => {
  const broker = await startBus(t, { root: 'elsewhere' })
  const asked = new Set<string | undefined>()
  const address = await startUpgradeServer(t, {
    handleUpgrade(request, socket, head) {
      asked.add(request.url)
      broker.handleUpgrade(request, socket, head)
    },
  })
  const { bus, logger } = createBus(t, `${address}?token=SECRETpw`)
  await bus.start()
  assert.deepEqual(
    [bus.connected, bus.url, [...asked], logger.lines[0]?.fields],
    [true, address, ['/mqtt?token=SECRETpw'], { url: address }],
  )
  assert.ok(!JSON.stringify(logger.lines).includes('SECRETpw'))
})

test('Without a broker the host starts all the same, and says so', async (t) => {
  const server = createServer()
  const port = await listen(server)
  await new Promise((resolve) => server.close(resolve))
  const { bus, logger } = createBus(t, `mqtt://127.0.0.1:${port}`)
  await bus.start()
  assert.equal(bus.connected, false)
  await bus.publish('x', 'waits')
  assert.deepEqual(
    logger.lines.map(({ level, message }) => [level, message]),
    [['warn', 'The MQTT broker cannot be reached']],
  )
  await bus.close()
})

test('An address that is none stops the start with the setting’s name', () => {
  const logger = createRecordingLogger()
  for (const url of ['', 'broker', 'http://broker', 'mqtt:', 'mqtt://']) {
    assert.throws(
      () => createExternalBus({ url, root: 'host', logger, clock: systemClock }),
      /HOST_MQTT_URL must be like/,
    )
  }
})

test('What is no topic or filter is refused before a broker hears of it: it would end the connection for it', async (t) => {
  const { bus } = createBus(t, 'mqtt://127.0.0.1:1')
  const refusal = { code: 'body_invalid' }
  for (const topic of ['', 'a/#', 'a/+/b', 'a\u0000']) {
    await assert.rejects(bus.publish(topic, 'x'), refusal, topic)
    assert.throws(() => bus.prepare(topic), refusal, topic)
  }
  for (const filter of ['', 'a/#/b', 'a+', 'a\u0000'])
    await assert.rejects(
      bus.subscribe(filter, () => undefined),
      refusal,
      filter,
    )
})

test(
  'What the broker says late of the run before a power cut is not the last word on a host that is there',
  options,
  async (t) => {
    const mosquitto = await startMosquitto(t)
    const will = { topic: 'host/status', payload: Buffer.from('offline'), qos: 1, retain: true } as const
    const before = await connect(t, mosquitto.url, { will })
    const { bus } = createBus(t, mosquitto.url)
    await bus.start()
    const client = await connect(t, mosquitto.url)
    const live = collect(client)
    await client.subscribeAsync('host/status')
    await live.take(1)
    before.stream.destroy()
    assert.deepEqual(lines(await live.take(3)), [
      'host/status online',
      'host/status offline',
      'host/status online',
    ])
  },
)

test(
  'Whoever publishes how things are is asked to do so at a first connection that comes late, and what has to arrive has waited',
  options,
  async (t) => {
    const mosquitto = await createMosquitto(t)
    const { bus } = createBus(t, mosquitto.url)
    await bus.start()
    const connected = onceReconnected(bus)
    const early = await collectFromBus(bus, 'host/early/#')
    await bus.publish('host/early/state', 'gives way to what comes after it', { retain: true })
    const delivery = { isWanted: () => true, done: () => undefined }
    for (const text of ['first', 'second']) bus.deliver(`host/early/${text}`, text, delivery)
    assert.equal(bus.messages.published, 3)
    for (let number = 0; number < waitingMessagesLimit; number += 1)
      await bus.publish('noise', String(number))
    bus.onReconnect(() => void bus.publish('host/late', 'as it is', { retain: true }))
    await mosquitto.start()
    await connected
    const atHost = await collectFromBus(bus, 'host/late')
    assert.deepEqual((await atHost.take(1)).map(textOf), ['host/late as it is'])
    assert.deepEqual(early.all.map(textOf), ['host/early/first first', 'host/early/second second'])
  },
)

for (const [limit, words, reason] of [
  // The first is said when a client connects; over the other one the connection ends.
  ['max_packet_size', 'The MQTT broker refused a message', []],
  [
    'message_size_limit',
    'The MQTT broker ends the connection',
    [
      'Invalid puback reason code: it has refused a message in a way that MQTT does not know, as Mosquitto does where one is larger than its message_size_limit; raise that there, or have less sent at once',
    ],
  ],
] as const) {
  test(
    `A message that the broker does not take keeps no other away (${limit} of Mosquitto)`,
    options,
    async (t) => {
      const { mosquitto, bus, logger } = await startOnMosquitto(t, ['allow_anonymous true', `${limit} 20000`])
      await bus.publish('host/large', 'x'.repeat(50_000), { qos: 1, retain: true })
      await bus.publish('host/small', 'taken', { qos: 1, retain: true })
      const client = await connect(t, mosquitto.url)
      const received = collect(client)
      await client.subscribeAsync('host/small')
      assert.deepEqual(lines(await received.take(1)), ['host/small taken'])
      const refusal = () => logger.lines.find(({ message }) => message.startsWith(words))
      const { fields } = await until('the refusal', async () => refusal())
      assert.deepEqual([fields?.topic, fields?.bytes], ['host/large', 50_020])
      const ends = logger.lines.filter(({ message }) => message === 'The MQTT broker is gone')
      assert.deepEqual([...new Set(ends.map((line) => line.fields?.reason))], reason)
    },
  )
}
