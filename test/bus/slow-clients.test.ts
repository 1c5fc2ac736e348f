import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { type TestContext, test } from 'node:test'
import { WebSocket } from 'ws'
import { sessionQueueLimit } from '../../src/bus/store/broker-sessions.ts'
import { inflightLimit, outgoingBytesLimit } from '../../src/bus/broker-limits.ts'
import {
  collect,
  connect,
  connectListening,
  createRecordingLogger,
  lines,
  startBus,
  startUpgradeServer,
} from './bus-fixture.ts'

/** What waits for a client that does not take it, or because of one that does not go on, is bounded. */

type Way = 'TCP' | 'WebSocket'
const ways: readonly Way[] = ['TCP', 'WebSocket']

async function start(context: TestContext) {
  const logger = createRecordingLogger()
  const bus = await startBus(context, { logger })
  const webSocket = await startUpgradeServer(context, bus)
  const urls: Record<Way, string> = { TCP: bus.url, WebSocket: webSocket }
  return { bus, urls, warnings: () => logger.lines.map(({ message }) => message) }
}

interface RawClient {
  send(bytes: Buffer): void
  /** Resolves when something comes that begins with this byte. */
  heard(first: number): Promise<void>
  /** Reads no more. */
  stopReading(): void
  hasEnded(): boolean
  ended: Promise<void>
}

/** First bytes of answers. */
const connack = 0x20
const suback = 0x90

const text = (value: string): Buffer => Buffer.from([0, value.length, ...Buffer.from(value)])
const number = (value: number): Buffer => Buffer.from([value >> 8, value & 0xff])
const packet = (first: number, ...parts: (Buffer | number[])[]): Buffer => {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)))
  return Buffer.concat([Buffer.from([first, body.length]), body])
}
/** MQTT 3.1.1 with a clean session and without a keepalive. */
const connectPacket = packet(0x10, text('MQTT'), [4, 2, 0, 0], text('raw'))
const subscribePacket = (filter: string): Buffer => packet(0x82, number(1), text(filter), [0])
const publishPacket = (topic: string, messageId: number): Buffer =>
  packet(0x34, text(topic), number(messageId))

/** A client that says and reads what the test wants; connected. */
async function raw(context: TestContext, way: Way, url: string): Promise<RawClient> {
  const waiting: { first: number; resolve: () => void }[] = []
  const hear = (bytes: Buffer): void => {
    for (const one of waiting) if (one.first === bytes[0]) one.resolve()
  }
  let ended = false
  const socket =
    way === 'TCP' ? connectTcp(Number(new URL(url).port), '127.0.0.1') : new WebSocket(url, 'mqtt')
  const end = new Promise<void>((resolve) => {
    socket.once('close', () => {
      ended = true
      resolve()
    })
  })
  socket.on('error', () => undefined)
  context.after(() => void (socket instanceof WebSocket ? socket.terminate() : socket.destroy()))
  if (socket instanceof WebSocket) {
    socket.on('message', hear)
    await once(socket, 'open')
  } else {
    socket.on('data', hear)
    await once(socket, 'connect')
  }
  const client: RawClient = {
    send: (bytes) => void (socket instanceof WebSocket ? socket.send(bytes) : socket.write(bytes)),
    heard: (first) => new Promise((resolve) => void waiting.push({ first, resolve })),
    stopReading: () => void socket.pause(),
    hasEnded: () => ended,
    ended: end,
  }
  const accepted = client.heard(connack)
  client.send(connectPacket)
  await accepted
  return client
}

/** What the operating system may hold between two ends on one machine, in bytes. */
const systemBuffers = 24 * 1024 * 1024

for (const way of ways) {
  test(`over ${way}: who subscribes to all and does not read is cut off, and the others hear all`, async (context) => {
    const { urls, warnings } = await start(context)
    const slow = await raw(context, way, urls[way])
    const granted = slow.heard(suback)
    slow.send(subscribePacket('#'))
    await granted
    slow.stopReading()
    const listener = await connect(context, urls.TCP)
    const heard = collect(listener)
    await listener.subscribeAsync('flood')
    const sender = await connect(context, urls.TCP)
    const size = 256 * 1024
    const enough = Math.ceil((outgoingBytesLimit + systemBuffers) / size)
    let sent = 0
    for (; !warnings().includes('An MQTT client was cut off: it reads too slowly'); sent += 1) {
      assert.ok(sent < enough, 'the broker keeps more for a slow client than it may')
      await sender.publishAsync('flood', Buffer.alloc(size, sent), { qos: 1 })
    }
    assert.ok(sent * size >= outgoingBytesLimit, 'it was cut off before as much waited as may')
    assert.equal((await heard.take(sent)).length, sent)
    await sender.publishAsync('flood', 'after', { qos: 1 })
    assert.deepEqual(lines(await heard.take(sent + 1)).at(-1), 'flood after')
  })

  test(`over ${way}: who leaves too many messages of QoS 2 open is cut off, and nobody else`, async (context) => {
    const { urls } = await start(context)
    const other = await connect(context, urls.TCP)
    const heard = collect(other)
    await other.subscribeAsync(['open', 'after'])
    const client = await raw(context, way, urls[way])
    for (let messageId = 1; messageId <= inflightLimit; messageId += 1) {
      client.send(publishPacket('open', messageId))
    }
    await heard.take(inflightLimit)
    assert.equal(client.hasEnded(), false)
    client.send(publishPacket('open', inflightLimit + 1))
    await client.ended
    await other.publishAsync('after', 'x')
    assert.deepEqual(lines(await heard.take(inflightLimit + 1)).at(-1), 'after x')
  })

  test(`over ${way}: for a client that is away the newest messages wait, and the others hear all`, async (context) => {
    const { urls } = await start(context)
    const session = { clientId: 'sleeper', clean: false }
    const sleeper = await connect(context, urls[way], session)
    await sleeper.subscribeAsync('x', { qos: 1 })
    await sleeper.endAsync()
    const awake = await connect(context, urls[way])
    await awake.subscribeAsync('x')
    const heard = collect(awake)
    const sender = await connect(context, urls.TCP)
    const count = sessionQueueLimit + 5
    for (let number = 0; number < count; number += 1) {
      await sender.publishAsync('x', String(number), { qos: 1 })
    }
    assert.equal((await heard.take(count)).length, count)
    const missed = await connectListening(context, urls[way], session).received.take(sessionQueueLimit)
    assert.deepEqual([missed[0]?.text, missed.at(-1)?.text], ['5', String(count - 1)])
  })
}
