import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { postToHost, postToWorker, readFromHost } from '../../../src/schema/worker/call-frames.ts'
import type { SerializedValues } from '../../../src/schema/worker/plugin-call.ts'
import { pluginOperations } from '../../../src/schema/worker/plugin-call-limits.ts'
import {
  parseWorkerMessage,
  type UrgentMessage,
  type WorkerMessage,
} from '../../../src/schema/worker/worker-protocol.ts'

/** What a port would carry, after the clone that it makes. */
function sent(
  post: (port: { postMessage(message: unknown, transfer?: ArrayBuffer[]): void }) => void,
): unknown {
  let message: unknown
  post({
    postMessage(value, transfer = []) {
      message = structuredClone(value, { transfer })
    },
  })
  return message
}

const count = fc.integer({ min: 0, max: 0xffff_ffff })
const plugin = fc.constantFrom('@a/b', '@fixtures/demo', '@bänke/lampe-☼')
const serialized: fc.Arbitrary<SerializedValues> = fc.record({
  body: fc.oneof(fc.uint8Array(), fc.uint8Array({ minLength: 4_000, maxLength: 5_000 })),
  references: fc.array(
    fc.record({
      owner: count,
      handle: count,
      type: fc.constantFrom('table' as const, 'function' as const),
      plugin,
    }),
  ),
})
const operation = fc.constantFrom(...pluginOperations)
const depth = fc.integer({ min: 1, max: 32 })

/** The bytes themselves, whatever kind of array they are in. */
function plain(message: unknown): unknown {
  if (message instanceof Uint8Array) return [...message]
  if (Array.isArray(message)) return message.map(plain)
  if (typeof message !== 'object' || message === null) return message
  return Object.fromEntries(Object.entries(message).map(([key, value]) => [key, plain(value)]))
}

test('a call and its answer reach the host as they were, short or long', () => {
  const question = fc.record({
    isolate: count,
    number: count,
    owner: count,
    handle: count,
    operation,
    depth,
    serialized,
  })
  fc.assert(
    fc.property(question, fc.boolean(), ({ isolate, number, ...call }, background) => {
      const asked: WorkerMessage = {
        ...{ kind: 'question', isolate, number },
        question: { kind: 'callPlugin', ...call, ...(background ? { background } : {}) },
      }
      const outcome = { ok: true as const, serialized: call.serialized }
      const answered: WorkerMessage = { kind: 'callAnswered', isolate, call: number, outcome }
      for (const message of [asked, answered]) {
        const carried = sent((port) => postToHost(port, message))
        assert.ok(typeof carried === 'string' || carried instanceof Uint8Array, 'it travels as a frame')
        const parsed = parseWorkerMessage(carried)
        assert.ok(parsed.ok, JSON.stringify(parsed))
        assert.deepEqual(plain(parsed.value), plain(message))
      }
    }),
  )
})

test('a call and its answer reach a worker as they were, short or long', () => {
  fc.assert(
    fc.property(
      fc.record({ isolate: count, call: count, caller: plugin, handle: count, operation, depth, serialized }),
      (call) => {
        const called: UrgentMessage = { kind: 'call', ...call }
        const { isolate, call: number, serialized: value } = call
        const answer: UrgentMessage = { kind: 'answer', isolate, number, ok: true, value }
        for (const message of [called, answer]) {
          const carried = sent((port) => postToWorker(port, message)) as UrgentMessage
          assert.deepEqual(plain(readFromHost(carried)), plain(message))
        }
      },
    ),
  )
})

test('what is no call travels as the object that it is', () => {
  const message: UrgentMessage = {
    kind: 'answer',
    isolate: 1,
    number: 2,
    ok: true,
    value: { body: 'of a letter' },
  }
  assert.deepEqual(
    sent((port) => postToWorker(port, message)),
    message,
  )
})

test('a number that no frame can carry is refused from a worker', () => {
  const references = [{ owner: 2 ** 40, handle: 0, type: 'table' as const, plugin: '@a/b' }]
  const answered = { body: new Uint8Array(), references }
  const outcome = { ok: true, serialized: answered }
  assert.equal(parseWorkerMessage({ kind: 'callAnswered', isolate: 1, call: 1, outcome }).ok, false)
})

test('bytes and texts that are no call are an error, whatever is wrong with them', () => {
  const message: WorkerMessage = {
    ...{ kind: 'question', isolate: 1, number: 2 },
    question: {
      ...{ kind: 'callPlugin', owner: 1, handle: 0, operation: 'invoke', depth: 1 },
      serialized: {
        body: new Uint8Array(9),
        references: [{ owner: 1, handle: 2, type: 'table', plugin: '@a/b' }],
      },
    },
  }
  const good = Buffer.from(sent((port) => postToHost(port, message)) as string, 'latin1')
  const refused = (frame: unknown): void => assert.equal(parseWorkerMessage(frame).ok, false)
  const bytes = (change: (frame: Buffer) => void): Uint8Array => {
    const frame = new Uint8Array(good)
    change(Buffer.from(frame.buffer))
    return frame
  }
  assert.equal(parseWorkerMessage(bytes(() => undefined)).ok, true)
  refused('')
  refused(good.toString('latin1').slice(0, 20))
  refused('x'.repeat(10_000))
  refused(bytes((frame) => (frame[0] = 9)))
  refused(bytes((frame) => (frame[1] = 99)))
  refused(bytes((frame) => (frame[2] = 200)))
  refused(bytes((frame) => frame.writeUInt16LE(60_000, 20)))
  refused(bytes((frame) => frame.writeUInt32LE(0xffff_ffff, 22)))
  refused(bytes((frame) => frame.writeUInt32LE(3, 22)))
  refused(bytes((frame) => (frame[34] = 7)))
  // Its worker could change it while the host reads.
  const shared = new Uint8Array(new SharedArrayBuffer(good.length))
  shared.set(good)
  refused(shared)
  fc.assert(fc.property(fc.oneof(fc.uint8Array(), fc.string()), (frame) => void parseWorkerMessage(frame)))
})
