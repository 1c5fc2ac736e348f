import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createRetainedSearchScheduler } from '../../../src/bus/embedded/retained-search-scheduler.ts'
import { pauseReading } from '../../../src/bus/embedded/pause-reading.ts'
import { startBus } from '../bus-fixture.ts'
import { connectRaw, idIn, publishedIn, publishPacket, subscribePacket } from '../raw-client.ts'

const levels = 20

/** Filters that match nothing, which nobody knows before the last level. */
const wideFilters = (count: number, end: string): [filter: string, qos: number][] =>
  Array.from({ length: count }, (_, number) => [
    [
      ...Array.from({ length: levels }, (_each, level) => ((number >> (level % 12)) & 1 ? '+' : 'a')),
      end,
    ].join('/'),
    0,
  ])

/** A client that has retained much on long topics, and then a message on `last/of/all`. */
async function retainMuch(context: TestContext) {
  const bus = await startBus(context)
  const publisher = await connectRaw(context, bus.url, { id: 'publisher', clean: true })
  for (const number of Array(100).keys())
    publisher.send(
      publishPacket({ topic: `${'a/'.repeat(levels)}${number}`, payload: 'x', qos: 0, retain: true }),
    )
  publisher.send(publishPacket({ topic: 'last/of/all', payload: 'here', qos: 1, id: 1, retain: true }))
  await publisher.expect('puback')
  return await connectRaw(context, bus.url, { id: 'subscriber', clean: true })
}

test('A search for what is retained that looks at much takes turns, and finds it', async (context) => {
  const subscriber = await retainMuch(context)
  subscriber.send(subscribePacket(1, ...wideFilters(1_000, 'no'), ['last/#', 0]))
  await subscriber.expect('suback')
  let isHere = false
  const arriving = subscriber.expect('publish').then((packet) => {
    isHere = true
    return publishedIn(packet)
  })
  let turns = 0
  for (; !isHere; turns += 1) await setImmediate()
  assert.deepEqual((await arriving).payload, 'here')
  assert.ok(turns > 30, `${turns} turns`)
})

test('What a client sends behind many filters is read when those before them have been searched for', async (context) => {
  const subscriber = await retainMuch(context)
  subscriber.send(
    subscribePacket(1, ...wideFilters(2_600, 'no'), ['last/#', 0]),
    subscribePacket(2, ...wideFilters(2_600, 'never')),
    publishPacket({ topic: 'behind', payload: 'x', qos: 1, id: 3 }),
  )
  const packets = [await subscriber.expect('suback'), await subscriber.expect('suback')]
  assert.deepEqual(packets.map(idIn), [1, 2])
  assert.equal(publishedIn(await subscriber.expect('publish')).payload, 'here')
  assert.equal(idIn(await subscriber.expect('puback')), 3)
})

const filters = Array<string>(3_000).fill('a/+')

test('A search ends with the connection of its client, and searches take turns', async () => {
  const turns = createRetainedSearchScheduler()
  const client = { conn: new PassThrough() }
  turns.subscribed(client)
  const search = turns.begin(filters)
  assert.equal(await search.nextTurn(), true)
  const other = turns.begin(filters)
  let went = false
  const going = other.nextTurn().then(() => (went = true))
  await Promise.resolve()
  assert.equal(went, false)
  await setImmediate()
  await going
  client.conn.destroy()
  assert.equal(await search.nextTurn(), false)
  assert.equal(await other.nextTurn(), true)
})

/** How many turns of the event loop it takes. */
async function turnsUntil(work: Promise<unknown>): Promise<number> {
  let isOver = false
  void work.then(() => (isOver = true))
  let count = 0
  for (; !isOver; count += 1) await setImmediate()
  return count
}

test('Many searches of one client have as many turns together as one of another, and none when it has left', async () => {
  const turns = createRetainedSearchScheduler()
  const begin = (conn: PassThrough) => {
    turns.subscribed({ conn })
    return turns.begin(['a/+'])
  }
  const busy = new PassThrough()
  const many = Promise.all(Array.from({ length: 100 }, () => begin(busy).nextTurn()))
  const other = begin(new PassThrough())
  for (let count = 0; count < 5; count += 1) assert.ok((await turnsUntil(other.nextTurn())) <= 3)
  busy.destroy()
  assert.ok((await turnsUntil(many)) <= 3)
  assert.equal((await many).at(-1), false)
})

test('A client is not read while more filters of it are searched for than at a time, one search apart', () => {
  const turns = createRetainedSearchScheduler()
  const client = { conn: new PassThrough() }
  client.conn.write('later')
  turns.subscribed(client)
  const first = turns.begin([...filters, ...filters])
  assert.equal(client.conn.readableLength, 5)
  const read = client.conn.read
  turns.subscribed(client)
  const second = turns.begin(filters)
  assert.equal(client.conn.read(), null)
  first.end()
  assert.equal(client.conn.read(), null)
  second.end()
  assert.equal(client.conn.read, read)
  assert.equal(String(client.conn.read()), 'later')
  turns.subscribed(client)
  turns.begin(filters.slice(0, 10))
  turns.subscribed(client)
  turns.begin(filters)
  assert.equal(client.conn.read, read)
})

test('A connection that two have stopped is read when both read on, in whatever order', () => {
  for (const order of [
    [0, 1],
    [1, 0],
  ]) {
    const connection = new PassThrough()
    connection.write('later')
    const ways = [pauseReading(connection), pauseReading(connection)]
    ways[order[0] ?? 0]?.()
    assert.equal(connection.read(), null)
    ways[order[1] ?? 0]?.()
    assert.equal(String(connection.read()), 'later')
  }
})
