import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sessionQueueLimit } from '../../src/bus/store/broker-sessions.ts'
import { inflightLimit, outgoingBytesLimit } from '../../src/bus/broker-limits.ts'
import {
  collect,
  connect,
  connectListening,
  createRecordingLogger,
  lines,
  startBothWays,
  ways,
} from './bus-fixture.ts'
import { connectRaw, publishPacket, subscribePacket } from './raw-client.ts'

/** What waits for a client that does not take it, or because of one that does not go on, is bounded. */

async function start(context: TestContext) {
  const logger = createRecordingLogger()
  const { urls } = await startBothWays(context, { logger })
  return { urls, warnings: () => logger.lines.map(({ message }) => message) }
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
