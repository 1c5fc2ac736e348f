import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import {
  createPacketScanner,
  limitPackets,
  type PacketLimits,
} from '../../../src/bus/listeners/packet-limit.ts'
import {
  createReadScheduler,
  deliveriesAtOnce,
  packetsAtOnce,
} from '../../../src/bus/listeners/read-scheduler.ts'
import { packetTypes, publishPacket, subscribePacket, unsubscribePacket } from '../raw-client.ts'

const limits = { bytes: 300, filters: 0 }

/** One that leaves nothing for later. */
const scanner = (most: PacketLimits) =>
  createPacketScanner(
    most,
    () => true,
    () => undefined,
  )

/** A packet with a body of this many bytes, all of them such that a lost border would show. */
function packet(bodyBytes: number): Buffer {
  const length: number[] = []
  for (let rest = bodyBytes; ; rest = Math.floor(rest / 128)) {
    length.push((rest % 128) + (rest >= 128 ? 128 : 0))
    if (rest < 128) break
  }
  return Buffer.concat([Buffer.from([0x30, ...length]), Buffer.alloc(bodyBytes, 0xff)])
}

function inChunks(bytes: Buffer, size: number): Buffer[] {
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size))
  return chunks
}

test('Packets up to the limit pass however the network cuts them, and a longer one is seen', () => {
  const limit = 300
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: limit })),
      fc.integer({ min: 1, max: 400 }),
      fc.boolean(),
      (bodies, size, tooLong) => {
        const sizes = tooLong ? [...bodies, limit + 1] : bodies
        const accept = scanner({ bytes: limit, filters: 0 })
        assert.equal(inChunks(Buffer.concat(sizes.map(packet)), size).every(accept), !tooLong)
      },
    ),
  )
})

for (const [name, type] of [
  ['SUBSCRIBE', packetTypes.subscribe],
  ['UNSUBSCRIBE', packetTypes.unsubscribe],
] as const)
  test(`A ${name} with as many filters as it may have passes however the network cuts it, and one with more is seen`, () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.constantFrom('', 'a', 'ab/c', 'x'.repeat(300)), { minLength: 1 }), {
          minLength: 1,
        }),
        fc.integer({ min: 1, max: 400 }),
        fc.integer({ min: 0, max: 3 }),
        (packets, size, spare) => {
          const most = Math.max(...packets.map((filters) => filters.length))
          const bytes = Buffer.concat(
            packets.map((filters) =>
              type === packetTypes.subscribe
                ? subscribePacket(1, ...filters.map((filter): [string, number] => [filter, 2]))
                : unsubscribePacket(1, ...filters),
            ),
          )
          for (const [filters, passes] of [
            [most + spare, true],
            [most - 1, false],
          ] as const) {
            const accept = scanner({ bytes: bytes.length, filters })
            assert.equal(inChunks(bytes, size).every(accept), passes)
          }
        },
      ),
    )
  })

test('A length that does not end is refused', () => {
  assert.equal(scanner({ bytes: 1_000_000, filters: 0 })(Buffer.from([0x30, 0x80, 0x80, 0x80, 0x80])), false)
})

test('The first packet is read alone, and then all that has come, but not before it is handled', async () => {
  const connection = new PassThrough()
  limitPackets(
    connection,
    limits,
    createReadScheduler(),
    () => 1,
    () => assert.fail('none is too large'),
  )
  const parts = [packet(1), packet(2), packet(3)]
  for (const part of [packet(0), ...parts]) for (const chunk of inChunks(part, 2)) connection.write(chunk)
  // So Node asks for more to come.
  assert.equal(connection.read(0), null)
  assert.deepEqual(connection.read(), packet(0))
  // The broker asks for more when it has taken a packet, and may be in the midst of what was read.
  assert.equal(connection.read(), null)
  await setImmediate()
  assert.deepEqual(connection.read(), Buffer.concat(parts))
  assert.equal(connection.read(), null)
})

test('Of many packets some are read at a time, of one client after the other, and few in a turn', async () => {
  const turns = createReadScheduler()
  const [clients, packets] = [20, 3_000]
  const read: number[] = []
  const left = Array.from({ length: clients }, () => packets)
  let inTurn = 0
  let most = 0
  for (let client = 0; client < clients; client += 1) {
    const connection = new PassThrough({ highWaterMark: 2 * packets })
    limitPackets(
      connection,
      limits,
      turns,
      () => 1,
      () => assert.fail('none is too large'),
    )
    // As the broker does, which handles such packets at once, and asks for more when it has.
    connection.on('readable', () => {
      for (let chunk: unknown; (chunk = connection.read()) !== null;) {
        const count = (chunk as Buffer).length / 2
        assert.ok(count <= packetsAtOnce, `${count} at a time`)
        left[client] = Number(left[client]) - count
        inTurn += count
        most = Math.max(most, inTurn)
        if (count === packetsAtOnce) read.push(client)
      }
    })
    connection.write(Buffer.alloc(2 * packets, packet(0)))
  }
  while (left.some((count) => count > 0)) {
    await setImmediate()
    inTurn = 0
  }
  assert.ok(most <= 4 * packetsAtOnce + packetsAtOnce, `${most} in a turn`)
  // The first is alone until the others have come.
  const order = read.slice(read.indexOf(1), read.indexOf(1) + 5 * clients)
  for (const round of inChunks(Buffer.from(order), clients))
    assert.equal(new Set(round).size, clients, order.join(' '))
})

test('Of a packet that is larger than what is read at a time the rest follows by itself', async () => {
  const connection = new PassThrough({ highWaterMark: 200_000 })
  limitPackets(
    connection,
    { bytes: 100_000, filters: 0 },
    createReadScheduler(),
    () => 1,
    () => assert.fail('none is too large'),
  )
  const bytes = Buffer.concat([packet(3), packet(70_000), packet(5)])
  connection.write(bytes)
  const read: Buffer[] = []
  // As the broker does, which asks again only for a packet that it has taken.
  connection.on('readable', () => {
    const chunk = connection.read() as Buffer | null
    if (chunk !== null) read.push(chunk)
    if (read.length === 1) connection.read()
  })
  while (Buffer.concat(read).length < bytes.length) await setImmediate()
  assert.deepEqual(Buffer.concat(read), bytes)
})

test('Of messages that go to many fewer are read at a time, as many as have so many receivers together', async () => {
  const asked: [topic: string, qos: number][] = []
  const receivers = (topic: string, qos: number): number => {
    asked.push([topic, qos])
    return topic === 'to/many' ? deliveriesAtOnce / 4 : 1
  }
  const connection = new PassThrough({ highWaterMark: 200_000 })
  limitPackets(connection, limits, createReadScheduler(), receivers, () => assert.fail('none is too large'))
  const few = publishPacket({ topic: 'to/few', payload: 'x', qos: 0 })
  const many = publishPacket({ topic: 'to/many', payload: 'x', qos: 1 })
  // One that ends before the length of its topic does is for the broker to refuse.
  const broken = Buffer.from([0x30, 1, 0])
  for (const part of [
    packet(0),
    ...Array<Buffer>(9).fill(many),
    few,
    broken,
    ...Array<Buffer>(100).fill(few),
  ])
    connection.write(part)
  const read: number[] = []
  connection.on('readable', () => {
    for (let chunk: unknown; (chunk = connection.read()) !== null;) read.push((chunk as Buffer).length)
  })
  while (connection.readableLength > 0) await setImmediate()
  assert.deepEqual(read, [
    2,
    4 * many.length,
    4 * many.length,
    many.length + 101 * few.length + broken.length,
  ])
  assert.deepEqual(asked.slice(8, 10), [
    ['to/many', 1],
    ['to/few', 0],
  ])
})

test('A message that ends in another chunk than it begins counts for all its receivers: others have their turn', async () => {
  const turns = createReadScheduler()
  const connect = (): PassThrough => {
    const connection = new PassThrough({ highWaterMark: 200_000 })
    limitPackets(
      connection,
      { bytes: 100_000, filters: 0 },
      turns,
      (topic) => (topic === 'to/many' ? 2 * deliveriesAtOnce : 0),
      () => assert.fail('none is too large'),
    )
    connection.write(packet(0))
    assert.deepEqual(connection.read(), packet(0))
    return connection
  }
  const [one, other] = [connect(), connect()]
  await setImmediate()
  const part = publishPacket({ topic: 'to/many', payload: 'x'.repeat(70_000), qos: 0 }).subarray(0, 1_000)
  one.write(part)
  other.write(packet(1))
  assert.deepEqual(one.read(), part)
  assert.equal(other.read(), null)
  await setImmediate()
  assert.deepEqual(other.read(), packet(1))
})

test('A message of which the topic has not come yet is read as far as it is there', async () => {
  const connection = new PassThrough()
  const asked: string[] = []
  limitPackets(
    connection,
    limits,
    createReadScheduler(),
    (topic) => asked.push(topic),
    () => assert.fail('none is too large'),
  )
  const message = publishPacket({ topic: 'topic', payload: 'x', qos: 0 })
  const parts = [
    [0, 2, 3, 4, 6],
    [0, 6],
  ].flatMap((cuts) => cuts.map((at, index) => message.subarray(at, cuts[index + 1])))
  for (const part of [packet(0), ...parts]) {
    connection.write(part)
    assert.deepEqual(connection.read(), part)
    await setImmediate()
  }
  assert.deepEqual(asked, [])
})
