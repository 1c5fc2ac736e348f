import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  createFrameReader,
  createFrameWriter,
  type Frame,
} from '../../../src/schema/worker/message-frames.ts'

function readAll(bytes: Uint8Array): Frame[] {
  const reader = createFrameReader(bytes)
  const frames: Frame[] = []
  for (let frame = reader.next(); frame !== undefined; frame = reader.next()) frames.push(frame)
  return frames
}

const name = fc.string({ unit: 'grapheme', maxLength: 40, size: 'max' })
const written = fc.record({
  kind: fc.constantFrom('event', 'message', 'log', 'object', 'sensor', 'control', 'exposed'),
  name,
  payload: fc.oneof(fc.uint8Array(), fc.string({ unit: 'grapheme' })),
  options: fc.record(
    { qos: fc.constantFrom(0 as const, 1 as const, 2 as const), retain: fc.boolean() },
    { noNullPrototype: true },
  ),
  subscription: fc.nat(),
  foreignCaller: fc.option(
    name.filter((id) => id !== ''),
    { nil: undefined },
  ),
})

test('what is written is read again, in order, whatever has been taken before', () => {
  fc.assert(
    fc.property(fc.array(fc.array(written, { maxLength: 20, size: 'max' }), { maxLength: 4 }), (batches) => {
      const writer = createFrameWriter()
      for (const batch of batches) {
        const lengths = batch.map(({ kind, name, payload, ...more }) =>
          writer.write(kind, name, payload, more),
        )
        assert.equal(
          writer.length,
          lengths.reduce((sum, length) => sum + length, 0),
        )
        const taken = writer.take()
        assert.deepEqual([writer.length, taken.byteOffset], [0, 0])
        const read = readAll(taken).map(({ payload, ...rest }) => ({ ...rest, payload: [...payload] }))
        const expected = batch.map(({ payload, ...rest }) => ({
          ...rest,
          payload: [...Buffer.from(payload)],
        }))
        assert.deepEqual(read, expected)
      }
    }),
  )
})

test('what has been cut or changed is refused, or read as something else, and never reaches beyond its buffer', () => {
  const writer = createFrameWriter()
  writer.write('event', 'hour:full', '{"h":1}')
  writer.write('message', 'a/b', 'x', { options: { qos: 2, retain: true }, foreignCaller: '@a/b' })
  const good = writer.take()
  fc.assert(
    fc.property(fc.nat(good.length - 1), fc.nat(255), fc.nat(good.length), (index, byte, length) => {
      const changed = good.slice(0, length)
      if (index < length) changed[index] = byte
      try {
        for (const { payload, name } of readAll(changed)) assert.ok(payload.length + name.length <= length)
      } catch (error) {
        assert.match(String(error), /Error: a frame /)
      }
    }),
  )
})
