import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jetstreamManager } from '@nats-io/jetstream'
import { connectStore } from '../../../src/fleet/store/connect-store.ts'
import { isConnected } from '../../../src/fleet/store/keep-nothing.ts'
import { StoreUnreachableError } from '../../../src/fleet/store/store-errors.ts'
import { openStoreStream } from '../../../src/fleet/store/store-stream.ts'
import { startStore } from '../../helpers/nats-server.ts'
import { until } from '../../helpers/until.ts'

test('a connection leaves a server behind which nobody has answered for five seconds, while it answers pings', async (context) => {
  const [one, other] = [await startStore(context), await startStore(context)]
  let now = 0
  const connection = await connectStore({ servers: [one.url, other.url], name: 'test' }, { now: () => now })
  context.after(() => connection.close())
  const stream = await openStoreStream(connection, {
    name: 'NEWS',
    config: { subjects: ['news'] },
    check: () => undefined,
  })
  const before = connection.getServer()
  const manager = await jetstreamManager(connection)
  const isUnanswered = async (at: number): Promise<void> => {
    now = at
    await assert.rejects(stream.publish('news', 'lost', {}), StoreUnreachableError)
  }
  // Nobody listens to the subject of a stream that is gone: so it is with a server that has lost the others.
  await manager.streams.delete('NEWS')
  await isUnanswered(0)
  await isUnanswered(4_999)
  await manager.streams.add({ name: 'NEWS', subjects: ['news'] })
  assert.deepEqual(await stream.publish('news', 'heard', {}), { seq: 1 })
  await manager.streams.delete('NEWS')
  await isUnanswered(5_500)
  await manager.streams.add({ name: 'NEWS', subjects: ['news'] })
  const onTopOfAnother = { expected: 5 }
  assert.deepEqual(await stream.publish('news', 'heard, and refused', onTopOfAnother), { refusedAfter: 0 })
  await manager.streams.delete('NEWS')
  await isUnanswered(6_000)
  await isUnanswered(10_999)
  assert.equal(connection.getServer(), before)
  await connection.flush()
  await isUnanswered(11_000)
  await until('another server', async () => !connection.isClosed() && connection.getServer() !== before)
  await connection.flush()
  // That one has its five seconds, too.
  const next = connection.getServer()
  await isUnanswered(12_000)
  await isUnanswered(16_999)
  await connection.flush()
  assert.equal(connection.getServer(), next)
})

test('the time in which there was no connection is no silence of the server that is found after it', async (context) => {
  const stores = [await startStore(context), await startStore(context)]
  let now = 0
  const servers = stores.map(({ url }) => url)
  const connection = await connectStore({ servers, name: 'test' }, { now: () => now })
  context.after(() => connection.close())
  const stream = await openStoreStream(connection, {
    name: 'NEWS',
    config: { subjects: ['news'] },
    check: () => undefined,
  })
  for (const store of stores) await store.stop()
  await until('the end of the connection', async () => !isConnected(connection))
  const isUnanswered = () => assert.rejects(stream.publish('news', 'lost', {}), StoreUnreachableError)
  await isUnanswered()
  for (const store of stores) await store.start()
  await until('a connection', async () => isConnected(connection))
  await (await jetstreamManager(connection)).streams.delete('NEWS').catch(() => false)
  const before = connection.getServer()
  now = 6_000
  await isUnanswered()
  await connection.flush()
  assert.equal(connection.getServer(), before)
})
