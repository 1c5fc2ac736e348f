import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import fc from 'fast-check'
import { createPacketScanner, limitPackets } from '../../../src/bus/listeners/packet-limit.ts'

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
        const accept = createPacketScanner(limit)
        assert.equal(inChunks(Buffer.concat(sizes.map(packet)), size).every(accept), !tooLong)
      },
    ),
  )
})

test('A length that does not end is refused', () => {
  assert.equal(createPacketScanner(1_000_000)(Buffer.from([0x30, 0x80, 0x80, 0x80, 0x80])), false)
})

test('The first packet is read alone, and then all that has come, whatever a stream gives at a time', () => {
  const connection = new PassThrough()
  limitPackets(connection, 300, () => assert.fail('none is too large'))
  const parts = [packet(1), packet(2), packet(3)]
  for (const part of [packet(0), ...parts]) for (const chunk of inChunks(part, 2)) connection.write(chunk)
  // So Node asks for more to come.
  assert.equal(connection.read(0), null)
  assert.deepEqual(connection.read(), packet(0))
  assert.deepEqual(connection.read(), Buffer.concat(parts))
  assert.equal(connection.read(), null)
})
