import assert from 'node:assert/strict'
import { createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { listen } from '../../helpers/listen.ts'
import { until } from '../../helpers/until.ts'
import {
  collect,
  collectFromBus,
  connect,
  createRecordingLogger,
  lines,
  startExternalBus,
  textOf,
} from '../bus-fixture.ts'
import { mosquittoMissing, startMosquitto } from '../mosquitto.ts'

/** Brokers elsewhere that do not take all that there is in MQTT, and say so. */

const options = { skip: mosquittoMissing }

async function startOn(context: TestContext, config: string[]) {
  const mosquitto = await startMosquitto(context, ['allow_anonymous true', ...config])
  const logger = createRecordingLogger()
  const bus = await startExternalBus(context, mosquitto.url, { logger })
  const client = await connect(context, mosquitto.url)
  const heard = collect(client)
  await client.subscribeAsync('#', { qos: 2 })
  return { bus, heard, warnings: () => logger.lines.filter(({ level }) => level !== 'info') }
}

for (const highest of [1, 0])
  test(
    `A broker that takes no more than QoS ${highest} gets messages of more with that`,
    options,
    async (context) => {
      const { bus, heard, warnings } = await startOn(context, [`max_qos ${highest}`])
      assert.equal(bus.connected, true)
      for (const qos of [0, 1, 2] as const) await bus.publish(`at/${qos}`, 'x', { qos })
      const [status, ...messages] = await heard.take(4)
      assert.deepEqual([status?.topic, status?.text], ['host/status', 'online'])
      assert.deepEqual(
        messages.map(({ topic, qos }) => [topic, qos]),
        [
          ['at/0', 0],
          ['at/1', highest],
          ['at/2', highest],
        ],
      )
      assert.deepEqual(warnings(), [])
    },
  )

test(
  'A broker that retains nothing is told all the same, and it is said once what that means',
  options,
  async (context) => {
    const { bus, heard, warnings } = await startOn(context, ['retain_available false'])
    assert.equal(bus.connected, true)
    await bus.publish('state', 'first', { retain: true })
    await bus.publish('state', 'second', { qos: 1, retain: true })
    assert.deepEqual(lines(await heard.take(2)), ['state first', 'state second'])
    await bus.close()
    assert.deepEqual(lines(await heard.take(3)).at(-1), 'host/status offline')
    assert.deepEqual(
      warnings().map(({ message }) => message),
      ['The MQTT broker retains nothing: who comes later hears only of changes'],
    )
  },
)

test(
  'It is known how large a message may be for a broker that says so: one of that size arrives',
  options,
  async (context) => {
    const { bus, heard, warnings } = await startOn(context, ['max_packet_size 2000'])
    const topic = 'grün/1'
    const limit = bus.payloadLimit?.(topic) ?? 0
    // What a packet has beside it is at most its type, its length, that of the topic, a number and no properties.
    assert.equal(limit, 2_000 - Buffer.byteLength(topic) - 10)
    assert.equal(bus.payloadLimit?.('x'.repeat(2_000)), 0)
    await bus.publish(topic, 'x'.repeat(limit), { qos: 2 })
    const [, message] = await heard.take(2)
    assert.deepEqual([message?.topic, message?.text.length], [topic, limit])
    assert.deepEqual(warnings(), [])
    const { bus: other } = await startOn(context, [])
    assert.equal(other.payloadLimit?.(topic), undefined)
  },
)

/** A broker of MQTT 5 that takes whoever connects, with these properties of its CONNACK; `heard` gets all that comes then. */
async function startSmallBroker(
  context: TestContext,
  properties: readonly number[],
  heard: (bytes: Buffer, socket: Socket) => void,
): Promise<string> {
  const connack = Buffer.from([0x20, properties.length + 3, 0, 0, properties.length, ...properties])
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => undefined)
    socket.once('data', () => {
      socket.write(connack)
      socket.on('data', (bytes) => heard(bytes, socket))
    })
  })
  const port = await listen(server)
  context.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return `mqtt://127.0.0.1:${port}`
}

test('A broker of MQTT 5 that takes no identifiers of subscriptions gets none', async (context) => {
  let onSubscribe = (_bytes: Buffer): void => undefined
  const subscribed = new Promise<Buffer>((resolve) => {
    onSubscribe = resolve
  })
  const url = await startSmallBroker(context, [0x29, 0], (bytes) => {
    const start = bytes.indexOf(0x82)
    if (start >= 0) onSubscribe(bytes.subarray(start))
  })
  await startExternalBus(context, url)
  // Type, length, two bytes of the packet's number, and then how long its properties are.
  assert.equal((await subscribed)[4], 0)
})

test('What it hands on of a shared subscription reaches whoever has it', async (context) => {
  const topic = 'jobs/1'
  const url = await startSmallBroker(context, [0x29, 0], (bytes, socket) => {
    if (!bytes.includes('$share/workers/jobs/+')) return
    socket.write(Buffer.from([0x30, topic.length + 4, 0, topic.length, ...Buffer.from(topic), 0, 0x78]))
  })
  const bus = await startExternalBus(context, url)
  const heard = new Promise<string>((resolve) => {
    void bus.subscribe('$share/workers/jobs/+', (message) => resolve(textOf(message)))
  })
  assert.equal(await heard, 'jobs/1 x')
})

test('A broker that takes only so many messages without an acknowledgement gets no more of them', async (context) => {
  let heard = Buffer.alloc(0)
  const url = await startSmallBroker(context, [0x21, 0, 3], (bytes) => {
    heard = Buffer.concat([heard, bytes])
  })
  const bus = await startExternalBus(context, url)
  for (let number = 0; number < 10; number += 1) await bus.publish('many', 'x', { qos: 1 })
  // Comes to the broker after all that may go before it.
  await bus.subscribe('latest', () => undefined)
  await until('the subscription', async () => heard.includes('latest'))
  // What the host says of itself is the third.
  assert.equal(heard.toString('latin1').split('many').length - 1, 2)
})

test('A host that has said its last word ends the connection in good order, so that the broker does not say it again', async (context) => {
  let heard = Buffer.alloc(0)
  // It takes QoS 0 alone, and has nothing to acknowledge but the one subscription.
  const url = await startSmallBroker(context, [0x24, 0], (bytes, socket) => {
    heard = Buffer.concat([heard, bytes])
    const start = bytes.indexOf(0x82)
    if (start >= 0) socket.write(Buffer.from([0x90, 4, ...bytes.subarray(start + 2, start + 4), 0, 0]))
  })
  const bus = await startExternalBus(context, url)
  await bus.close()
  await until('the end of the connection', async () => heard[heard.lastIndexOf('offline') + 7] === 0xe0)
})

test('A message that a broker of MQTT 5 sends once for several filters reaches whoever has one of them', async (context) => {
  // Of what the broker sends: a topic, the numbers of the second and third subscription of the host, and a payload.
  const message = [0, 3, ...Buffer.from('a/b'), 4, 0x0b, 2, 0x0b, 3, ...Buffer.from('x')]
  const url = await startSmallBroker(context, [], (bytes, socket) => {
    if (bytes.includes('a/#')) socket.write(Buffer.from([0x30, message.length, ...message]))
  })
  const bus = await startExternalBus(context, url)
  const [exact, wide] = [await collectFromBus(bus, 'a/b'), await collectFromBus(bus, 'a/#')]
  assert.deepEqual((await exact.take(1)).map(textOf), ['a/b x'])
  assert.deepEqual((await wide.take(1)).map(textOf), ['a/b x'])
})

for (const { words, reason } of [
  { words: '', reason: 'it has hung up: Not authorized' },
  { words: 'no topic of yours', reason: 'it has hung up: Not authorized (no topic of yours)' },
])
  test(`What a broker of MQTT 5 says when it hangs up is told: ${reason}`, async (context) => {
    const text = words === '' ? [] : [0x1f, 0, words.length, ...Buffer.from(words)]
    const url = await startSmallBroker(context, [], (_bytes, socket) => {
      socket.end(Buffer.from([0xe0, text.length + 2, 0x87, text.length, ...text]))
    })
    const logger = createRecordingLogger()
    const bus = await startExternalBus(context, url, { logger })
    await until('the end of the connection', async () => bus.fault !== undefined)
    // Nor is it said to have refused what it had not answered.
    assert.deepEqual(
      logger.lines
        .filter(({ level }) => level !== 'info')
        .map(({ message, fields }) => [message, fields?.reason]),
      [['The MQTT broker is gone', reason]],
    )
    assert.equal(bus.fault, reason)
  })

for (const [what, ...bytes] of [
  ['a PUBLISH of QoS 1 without a number', 0x32, 3, 0, 1, 0x61],
  ['a PUBLISH of QoS 2 without a number', 0x34, 3, 0, 1, 0x61],
  ['a PUBACK without a number', 0x40, 0],
  ['a PUBREC without a number', 0x50, 0],
  ['a PUBREL without a number', 0x62, 0],
] as const)
  test(`A broker that sends ${what} loses the connection, and the host makes a new one`, async (context) => {
    const sockets = new Set<Socket>()
    const url = await startSmallBroker(context, [], (_bytes, socket) => {
      if (sockets.size === 0) socket.write(Buffer.from(bytes))
      sockets.add(socket)
    })
    const logger = createRecordingLogger()
    const bus = await startExternalBus(context, url, { logger, random: () => 0 })
    await until('the end of the connection', async () => bus.fault !== undefined || sockets.size > 1)
    await until('another one', async () => bus.connected && sockets.size > 1)
    assert.deepEqual(
      logger.lines.filter(({ level }) => level !== 'info').map(({ message }) => message),
      ['The MQTT broker is gone'],
    )
  })

test('What has come before a connection was lost, and was not looked at by then, is looked at no more', async (context) => {
  const message = [0x30, 8, 0, 4, ...Buffer.from('busy'), 0, 0x78]
  // More than wait for a subscription.
  const messages = Array<number[]>(1_200).fill(message).flat()
  const release = [0x62, 2, 0, 1]
  const told = new Set<Socket>()
  const url = await startSmallBroker(context, [], (bytes, socket) => {
    if (!bytes.includes('busy')) return
    if (told.size === 0) socket.end(Buffer.from([...messages, ...release]))
    told.add(socket)
  })
  const bus = await startExternalBus(context, url, { random: () => 0 })
  let heard = 0
  await bus.subscribe('busy', () => {
    heard += 1
    // One in each turn, until the end has come.
    if (bus.connected) for (const begun = performance.now(); performance.now() - begun < 10;);
  })
  await until('another connection', async () => bus.connected && told.size > 1)
  assert.ok(heard < 1_200, `${heard} were heard`)
})
