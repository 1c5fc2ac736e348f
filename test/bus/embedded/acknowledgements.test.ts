import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import type { Client, PublishPacket } from 'aedes'
import { createDeferred } from '../../../src/base/time/deferred.ts'
import {
  createAcknowledgements,
  waitingConfirmationsLimit,
} from '../../../src/bus/embedded/acknowledgements.ts'

test('Of a client that sends on while the disk does not answer only so many messages wait to be confirmed', async () => {
  const disk = createDeferred<undefined>()
  let isSlow = false
  const published: string[] = []
  const { take } = createAcknowledgements({
    waitsForSessions: () => false,
    cutOffIfSlow: () => isSlow,
    written: () => disk.promise,
    publish: ({ topic }, _client, done) => {
      published.push(topic)
      done()
    },
  })
  const conn = new PassThrough()
  const confirmed: Buffer[] = []
  Reflect.set(conn, 'write', (bytes: Buffer) => confirmed.push(bytes))
  conn.push('what comes next')
  const client = { conn, clean: true, _nextBatch: () => undefined } as unknown as Client
  const send = (messageId: number): boolean => {
    const message: PublishPacket = {
      cmd: 'publish',
      topic: 't',
      payload: '',
      qos: 1,
      retain: true,
      dup: false,
    }
    return take(client, { ...message, messageId })
  }
  for (let id = 1; id < waitingConfirmationsLimit; id += 1) assert.ok(send(id))
  assert.ok(conn.read(1) !== null)
  send(waitingConfirmationsLimit)
  assert.equal(conn.read(1), null)
  assert.deepEqual([published.length, confirmed], [waitingConfirmationsLimit, []])

  disk.resolve(undefined)
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(confirmed.length, waitingConfirmationsLimit)
  assert.deepEqual(
    [confirmed[0], confirmed.at(-1)],
    [
      Buffer.from([0x40, 2, 0, 1]),
      Buffer.from([0x40, 2, waitingConfirmationsLimit >> 8, waitingConfirmationsLimit & 255]),
    ],
  )
  assert.ok(conn.read(1) !== null)

  // Who does not read what is confirmed does not make it grow without end.
  isSlow = true
  send(1)
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(confirmed.length, waitingConfirmationsLimit)
})

test('What nobody keeps waits for nothing, unless something before it is not confirmed yet', async () => {
  const disk = createDeferred<undefined>()
  const { take, ready } = createAcknowledgements({
    waitsForSessions: (topic) => topic === 'kept',
    cutOffIfSlow: () => false,
    written: () => disk.promise,
    publish: (_packet, _client, done) => {
      done()
    },
  })
  const conn = new PassThrough()
  const client = { conn, clean: true, _nextBatch: () => undefined } as unknown as Client
  const message = (topic: string, qos: 0 | 1 | 2, messageId = 1): PublishPacket => ({
    cmd: 'publish',
    topic,
    payload: '',
    qos,
    retain: false,
    dup: false,
    messageId,
  })
  assert.deepEqual(
    [take(client, message('kept', 0)), take(client, message('kept', 2)), take(client, message('other', 1))],
    [false, false, true],
  )
  const puback = (id: number): Buffer => Buffer.from([0x40, 2, 0, id])
  assert.deepEqual(conn.read(), puback(1))
  assert.deepEqual(
    [ready(client, message('other', 2)), ready(client, message('kept', 1))],
    [undefined, undefined],
  )
  assert.equal(ready(null, message('kept', 2)), undefined)
  assert.equal(ready(client, message('kept', 2)), disk.promise)
  assert.ok(take(client, message('kept', 1)))
  assert.ok(take(client, message('other', 1, 2)))
  assert.equal(conn.read(), null)
  disk.resolve(undefined)
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(conn.read(puback(1).length), puback(1))
  assert.deepEqual(conn.read(puback(2).length), puback(2))
  assert.ok(take(client, message('other', 1, 3)))
  assert.deepEqual(conn.read(), puback(3))
})
