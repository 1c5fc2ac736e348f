import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createClientAddresses } from '../../src/base/network/client-address.ts'
import { retainedLimits } from '../../src/bus/store/retained-ledger.ts'
import { sessionQueueLimit, sessionsLimit } from '../../src/bus/store/broker-sessions.ts'
import { inflightLimit, outgoingBytesLimit } from '../../src/bus/broker-limits.ts'
import {
  collect,
  collectFromBus,
  connect,
  connectListening,
  createRecordingLogger,
  lines,
  startBothWays,
  textOf,
  ways,
} from './bus-fixture.ts'
import { connectRaw, publishPacket, subscribePacket } from './raw-client.ts'

/** What waits for a client that does not take it, or because of one that does not go on, is bounded. */

async function start(context: TestContext) {
  const logger = createRecordingLogger()
  const { bus, urls } = await startBothWays(context, { logger })
  return { bus, urls, warnings: () => logger.lines.map(({ message }) => message) }
}

/** What the operating system may hold between two ends on one machine, in bytes. */
const systemBuffers = 24 * 1024 * 1024

for (const way of ways) {
  test(`over ${way}: who subscribes to all and does not read is cut off, and the others hear all`, async (context) => {
    const { urls, warnings } = await start(context)
    const slow = await connectRaw(context, urls[way], { id: 'slow', clean: true })
    slow.send(subscribePacket(1, ['#', 0]))
    await slow.expect('suback')
    slow.socket.pause()
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

  test(`over ${way}: who publishes much is asked to wait for a client that does not read, until it does or goes`, async (context) => {
    const { bus, urls } = await start(context)
    const sender = await connect(context, urls.TCP)
    for (const end of ['reads', 'goes']) {
      const slow = await connectRaw(context, urls[way], { id: 'slow', clean: true })
      slow.send(subscribePacket(1, ['#', 0]))
      await slow.expect('suback')
      slow.socket.pause()
      const payload = Buffer.alloc(256 * 1024)
      let caughtUp = bus.congested()
      for (let sent = 0; caughtUp === undefined; sent += payload.length) {
        assert.ok(sent < systemBuffers + outgoingBytesLimit / 2, 'nobody is asked to wait')
        await sender.publishAsync('flood', payload, { qos: 1 })
        caughtUp = bus.congested()
      }
      if (end === 'goes') await slow.vanish()
      else slow.socket.resume()
      await caughtUp
      assert.equal(bus.congested(), undefined)
    }
  })

  test(`over ${way}: who leaves too many messages of QoS 2 open is cut off, and nobody else`, async (context) => {
    const { urls } = await start(context)
    const other = await connect(context, urls.TCP)
    const heard = collect(other)
    await other.subscribeAsync(['open', 'after'])
    const client = await connectRaw(context, urls[way], { id: 'client', clean: true })
    const open = (id: number): void => client.send(publishPacket({ topic: 'open', payload: '', qos: 2, id }))
    for (let id = 1; id <= inflightLimit; id += 1) open(id)
    await heard.take(inflightLimit)
    assert.equal(client.hasEnded(), false)
    open(inflightLimit + 1)
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

test('of clients that are away only so many have it known what they have not released', async (context) => {
  const { bus, urls } = await start(context)
  const received = await collectFromBus(bus, 'once')
  const send = async (id: string, ...payloads: string[]): Promise<void> => {
    const client = await connectRaw(context, urls.TCP, { id, clean: false })
    for (const [index, payload] of payloads.entries()) {
      client.send(publishPacket({ topic: 'once', payload, qos: 2, id: index + 1 }))
      await client.expect('pubrec')
    }
    await client.vanish()
  }
  await send('first', 'one')
  // The broker hears of the end of the last ones a little later.
  const others = sessionsLimit + 20
  for (let number = 0; number < others; number += 1) await send(`other-${number}`, 'x')
  await send('first', 'two', 'three')
  assert.equal((await received.take(others + 2)).map(textOf).at(-1), 'once two')
})

test('all addresses of one IPv6 network together have as much retained as one address may', async (context) => {
  const { bus, urls } = await startBothWays(context, { addresses: createClientAddresses(['127.0.0.0/8']) })
  const fitting = 32
  // With room for the topic.
  const payload = Buffer.alloc(retainedLimits.address.bytes / fitting - 100)
  const each = 20
  for (const address of ['2001:db8:1:2::1', '2001:db8:1:2::9', '2001:db8:1:3::1']) {
    const client = await connect(context, urls.WebSocket, {
      wsOptions: { headers: { 'x-forwarded-for': address } },
    })
    for (let number = 0; number < each; number += 1)
      await client.publishAsync(`${address}/${number}`, payload, { qos: 1, retain: true })
  }
  const retained = [...bus.retainedTopics()].filter((topic) => topic.startsWith('2001:'))
  assert.equal(retained.length, fitting + each)
})
