import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { createCongestion } from '../../../src/bus/embedded/congestion.ts'

test('Nobody waits any more for a client that has gone without reading what waited for it', async () => {
  const congestion = createCongestion()
  const [first, second] = [new PassThrough(), new PassThrough()]
  for (const connection of [first, second]) {
    connection.write(Buffer.alloc(1024 * 1024 + 1))
    congestion.note(connection)
  }
  const caughtUp = congestion.over()
  assert.ok(caughtUp)
  for (const connection of [first, second]) {
    assert.equal(congestion.over(), caughtUp)
    connection.destroy()
    await once(connection, 'close')
  }
  assert.equal(congestion.over(), undefined)
  await caughtUp
})
