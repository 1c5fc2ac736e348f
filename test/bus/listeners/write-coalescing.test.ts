import assert from 'node:assert/strict'
import { Duplex } from 'node:stream'
import { test } from 'node:test'
import { coalesceWrites } from '../../../src/bus/listeners/write-coalescing.ts'

/** A connection that notes what reaches it; `release` lets go of what it holds back. */
function createConnection({ holds = false } = {}) {
  const written: string[] = []
  const held: (() => void)[] = []
  const connection = new Duplex({
    highWaterMark: 1_000,
    read: () => undefined,
    write(chunk: Buffer, _encoding, done) {
      written.push(chunk.toString())
      if (holds) held.push(() => done())
      else done()
    },
  })
  coalesceWrites(connection)
  return { connection, written, release: () => held.splice(0).forEach((done) => done()) }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('what is written within a turn leaves as one, in order', async () => {
  const { connection, written } = createConnection()
  for (const part of ['a', Buffer.from('b'), new Uint8Array([99])]) assert.ok(connection.write(part))
  assert.deepEqual(written, [])
  await turn()
  connection.write('d')
  await turn()
  assert.deepEqual(written, ['abc', 'd'])
})

test('much leaves at once, and nobody who asks to be told waits', async () => {
  const { connection, written } = createConnection()
  connection.write('first')
  connection.write('x'.repeat(64 * 1024))
  assert.equal(written.length, 1)
  connection.write('second')
  await new Promise((resolve) => connection.write('third', resolve))
  assert.deepEqual(written.slice(1), ['second', 'third'])
})

test('an end brings what has been gathered, and a destruction nothing more', async () => {
  const ended = createConnection()
  ended.connection.write('last')
  ended.connection.end(' words')
  await turn()
  assert.deepEqual(ended.written, ['last', ' words'])
  const destroyed = createConnection()
  destroyed.connection.write('never')
  destroyed.connection.destroy()
  await turn()
  assert.deepEqual(destroyed.written, [])
})

test('a full connection says so, and drain follows', async () => {
  const { connection, release } = createConnection({ holds: true })
  assert.ok(connection.write('x'.repeat(2_000)))
  await turn()
  assert.equal(connection.write('more'), false)
  const drained = new Promise((resolve) => connection.once('drain', resolve))
  for (let round = 0; round < 3; round += 1) {
    release()
    await turn()
  }
  await drained
  assert.ok(connection.write('again'))
})
