import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import {
  createSubscriptionScheduler,
  filtersAtOnce,
  filtersPerTurn,
} from '../../../src/bus/embedded/subscription-scheduler.ts'
import { connect, lines, collect, startBothWays, startBus, ways } from '../bus-fixture.ts'
import {
  connectRaw,
  idIn,
  packetTypes,
  publishedIn,
  publishPacket,
  subscribePacket,
  unsubscribePacket,
} from '../raw-client.ts'

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

test('Of many filters of a client some are looked at in each turn, in order, and what comes behind them is not read before', async () => {
  const inTurn = createSubscriptionScheduler()
  const client = { conn: new PassThrough() }
  client.conn.write('later')
  const count = filtersAtOnce + filtersPerTurn + 1
  const done: number[] = []
  for (let number = 0; number < count; number += 1) inTurn(client, () => done.push(number))
  const other: string[] = []
  inTurn({ conn: new PassThrough() }, () => other.push('at once'))
  assert.deepEqual([done.length, other], [filtersAtOnce, ['at once']])
  await nextTurn()
  assert.equal(done.length, filtersAtOnce + filtersPerTurn)
  // One that comes now has to wait as well.
  inTurn(client, () => done.push(count))
  assert.equal(client.conn.read(), null)
  const readable = once(client.conn, 'readable')
  await nextTurn()
  await readable
  assert.deepEqual(
    done,
    Array.from({ length: count + 1 }, (_, number) => number),
  )
  assert.equal(String(client.conn.read()), 'later')
  inTurn(client, () => done.push(count + 1))
  assert.equal(done.at(-1), count + 1)
})

test('Nothing more of a client is read in a turn before there is one that would have to wait', async () => {
  const inTurn = createSubscriptionScheduler()
  const client = { conn: new PassThrough() }
  client.conn.write('later')
  let done = 0
  const one = (): void => inTurn(client, () => (done += 1))
  for (let number = 1; number < filtersPerTurn; number += 1) one()
  assert.equal(String(client.conn.read()), 'later')
  client.conn.write('even later')
  one()
  assert.deepEqual([client.conn.read(), done], [null, filtersPerTurn])
  const readable = once(client.conn, 'readable')
  await nextTurn()
  await readable
  assert.equal(String(client.conn.read()), 'even later')
})

test('What waits for a turn is given up when the connection has ended', async () => {
  const inTurn = createSubscriptionScheduler()
  const client = { conn: new PassThrough() }
  let done = 0
  for (let number = 0; number < 2 * filtersAtOnce; number += 1) inTurn(client, () => (done += 1))
  client.conn.destroy()
  await nextTurn()
  assert.equal(done, filtersAtOnce)
})

for (const way of ways)
  test(`A client over ${way} that sends more behind a packet of many filters has all of it carried out in order`, async (context) => {
    const { urls } = await startBothWays(context)
    const filters = Array.from({ length: 10_000 }, (_, number): [string, number] => [`many/${number}`, 0])
    const say = (number: number, payload: string): Buffer =>
      publishPacket({ topic: `many/${number}`, payload, qos: 0 })
    const client = await connectRaw(context, urls[way], { id: 'many', clean: true })
    const witness = await connect(context, urls.TCP)
    const received = collect(witness)
    await witness.subscribeAsync('many/#')
    client.send(
      ...[say(0, 'before'), subscribePacket(1, ...filters), unsubscribePacket(2, 'many/9999')],
      ...[say(9_999, 'gone'), say(9_998, 'there')],
    )
    const answer = await client.expect('suback')
    assert.equal(idIn(answer), 1)
    assert.deepEqual(answer.body.subarray(2), Buffer.alloc(filters.length))
    assert.equal(idIn(await client.expect('unsuback')), 2)
    assert.equal(publishedIn(await client.expect('publish')).payload, 'there')
    assert.deepEqual(lines(await received.take(3)), ['many/0 before', 'many/9999 gone', 'many/9998 there'])
    // It goes on as before.
    client.send(subscribePacket(3, ['many/9999', 0]))
    assert.equal(idIn(await client.expect('suback')), 3)
    client.send(say(9_999, 'again'))
    assert.equal(publishedIn(await client.expect('publish')).payload, 'again')
  })

test('Others are served while the broker looks at many filters of a client', async (context) => {
  const bus = await startBus(context)
  const turnsNeeded = 10
  const count = filtersAtOnce + turnsNeeded * filtersPerTurn
  const client = await connectRaw(context, bus.url, { id: 'many', clean: true })
  const filters = Array.from({ length: count }, (_, number): [string, number] => [`many/${number}`, 0])
  const ends = ['many/0', `many/${count - 1}`]
  const firstTurns = new Map<string, number>()
  let turns = 0
  async function publish(): Promise<void> {
    for (; ends.some((topic) => !firstTurns.has(topic)); turns += 1) {
      for (const topic of ends) await bus.publish(topic, String(turns))
      await nextTurn()
    }
  }
  const publishing = publish()
  client.send(subscribePacket(1, ...filters))
  while (ends.some((topic) => !firstTurns.has(topic))) {
    const packet = await client.next()
    if (packet.type !== packetTypes.publish) continue
    const { topic, payload } = publishedIn(packet)
    if (!firstTurns.has(topic)) firstTurns.set(topic, Number(payload))
  }
  await publishing
  const [first = 0, last = 0] = ends.map((topic) => firstTurns.get(topic))
  assert.ok(last - first >= turnsNeeded, `${first} and ${last}`)
})
