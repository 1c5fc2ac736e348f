import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jetstreamManager } from '@nats-io/jetstream'
import { standardFixtures } from '../../helpers/fixture-repository.ts'
import { connectTo, startStore } from '../../helpers/nats-server.ts'
import { until } from '../../helpers/until.ts'
import { startDeafStore } from './deaf-store.ts'
import { startFleetStage } from './fleet-stage.ts'

/** Files of a plugin that is to be installed, and a store that does not take them. */

const body = { fullId: '@fixtures/demo' }

test('what is installed while a store that can be reached answers nothing is refused, with what may be the reason, and nothing is changed', async (t) => {
  const stage = await startFleetStage(t, standardFixtures)
  const store = await startDeafStore(t, stage.nats.url)
  const host = await stage.start('a', { store: store.url })
  store.lose(/OBJ_LUPINE_test_FILES/)
  const refused = await host.request('POST', '/api/plugins/install', { body })
  assert.deepEqual([refused.status, refused.body.code], [503, 'fleet_unreachable'])
  assert.match(
    refused.body.detail,
    /server can be reached: see the log of nats-server\..*disk.*Nothing was changed\.$/,
  )
  assert.ok(store.lost > 0)
  store.lose(undefined)
  assert.equal((await host.request('POST', '/api/plugins/install', { body })).status, 201)
})

test('what is installed while the store has no room is refused with what to do, and nothing is changed', async (t) => {
  const server = await startStore(t, { room: 1024 * 1024 })
  const stage = await startFleetStage(t, standardFixtures)
  const host = await stage.start('a', { store: server.url })
  const connection = await connectTo(t, server.url)
  const manager = await jetstreamManager(connection)
  await manager.streams.add({ name: 'FILLER', subjects: ['filler'] })
  for (const size of [100_000, 1_000, 1]) {
    for (let isFull = false; !isFull;) {
      const answer = await connection.request('filler', Buffer.alloc(size))
      isFull = answer.json<{ error?: unknown }>().error !== undefined
    }
  }
  const refused = await host.request('POST', '/api/plugins/install', { body })
  assert.deepEqual([refused.status, refused.body.code], [507, 'storage_full'])
  assert.match(refused.body.detail, /has no room .*max_file_store.*Nothing was changed\.$/)
  // The session is not renewed by then either: who reads that the store cannot be reached would look for the network's fault.
  await until('the session to be over', async () => (await host.request('GET', '/readyz')).status === 503)
  const later = await host.request('POST', '/api/plugins/install', { body })
  assert.deepEqual([later.status, later.body.code], [503, 'fleet_unreachable'])
  assert.match(
    later.body.detail,
    /\(it cannot be reached, or takes nothing\), so nothing can be changed; the log says why/,
  )
  await manager.streams.delete('FILLER')
  await until('another session', async () => (await host.request('GET', '/readyz')).status === 200)
  assert.equal((await host.request('POST', '/api/plugins/install', { body })).status, 201)
})
