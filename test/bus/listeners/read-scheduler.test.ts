import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createReadScheduler, packetsAtOnce } from '../../../src/bus/listeners/read-scheduler.ts'
import { collect, connect, lines, startBothWays, ways } from '../bus-fixture.ts'
import { connectRaw, idIn, publishPacket } from '../raw-client.ts'

test('One client alone reads on in a turn while there is time, and goes on in the next one', async () => {
  const turns = createReadScheduler()
  let asked = 0
  const goOn = (): void => void (asked += 1)
  let read = 0
  for (; turns.mayRead(goOn); read += 1) turns.hasRead(packetsAtOnce)
  assert.deepEqual([read, asked], [4, 0])
  assert.equal(turns.mayRead(goOn), false)
  await setImmediate()
  assert.equal(asked, 1, 'once, however often it has asked')
  for (; turns.mayRead(goOn); read += 1) turns.hasRead(packetsAtOnce)
  assert.equal(read, 8)
})

test('Who waits goes on in order, and who wants more after all others', async () => {
  const turns = createReadScheduler()
  const did: string[] = []
  function reader(name: string): () => void {
    const read = (): void => {
      if (!turns.mayRead(read)) return
      did.push(name)
      turns.hasRead(2 * packetsAtOnce)
      if (did.length < 12) turns.mayRead(read)
    }
    return read
  }
  turns.hasRead(4 * packetsAtOnce)
  for (const name of ['a', 'b', 'c']) reader(name)()
  assert.deepEqual(did, [])
  while (did.length < 12) await setImmediate()
  assert.equal(did.slice(0, 12).join(''), 'abcabcabcabc')
})

test('Who had its turn and did not read keeps nobody up, and who has not waited does not overtake', async () => {
  const turns = createReadScheduler()
  const gone = (): void => undefined
  const heard: boolean[] = []
  const other = (): void => void heard.push(turns.mayRead(other))
  const late = (): void => undefined
  turns.hasRead(4 * packetsAtOnce)
  for (const goOn of [gone, other]) assert.equal(turns.mayRead(goOn), false)
  await setImmediate()
  assert.deepEqual(heard, [true])
  turns.hasRead(4 * packetsAtOnce)
  assert.equal(turns.mayRead(other), false)
  await setImmediate()
  assert.equal(turns.mayRead(late), true, 'nobody waits any more')
})

const ping = Buffer.from([0xc0, 0])

for (const way of ways)
  test(`Clients over ${way} that send small packets as fast as they can are answered all of them, and so is who comes and goes beside them`, async (context) => {
    const { urls } = await startBothWays(context)
    const witness = await connect(context, urls.TCP)
    const received = collect(witness)
    await witness.subscribeAsync('all/#', { qos: 1 })
    const pings = 5_000
    const ids = Array.from({ length: 8 }, (_, number) => number + 1)
    const clients = await Promise.all(
      ids.map((id) => connectRaw(context, urls[way], { id: `c${id}`, clean: true })),
    )
    const brief = await connectRaw(context, urls[way], { id: 'brief', clean: true })
    for (const [index, client] of clients.entries())
      client.send(
        Buffer.alloc(2 * pings, ping),
        publishPacket({ topic: `all/${index}`, payload: 'last', qos: 1, id: index + 1 }),
      )
    const said = Array.from({ length: 1_000 }, (_, number) => `${number}`)
    brief.send(...said.map((payload) => publishPacket({ topic: 'all/brief', payload, qos: 0 })))
    brief.socket.end()
    await Promise.all(
      clients.map(async (client, index) => {
        for (let answered = 0; answered < pings; answered += 1) await client.expect('pingresp')
        assert.equal(idIn(await client.expect('puback')), index + 1)
      }),
    )
    const heard = lines(await received.take(said.length + ids.length))
    assert.deepEqual(
      heard.filter((line) => line.startsWith('all/brief')),
      said.map((payload) => `all/brief ${payload}`),
    )
    assert.equal(heard.filter((line) => line.endsWith(' last')).length, ids.length)
  })
