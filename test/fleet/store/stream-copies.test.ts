import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jetstreamManager } from '@nats-io/jetstream'
import { createStream } from '../../../src/fleet/store/stream-copies.ts'
import { connectTo, startNatsServer } from '../../helpers/nats-server.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { until } from '../../helpers/until.ts'

test('a stream that another host has made meanwhile, with fewer copies than were to be had later, is taken as it is', async (context) => {
  const directory = await temporaryDirectory(context)
  // Of a third one that is not there yet: there is a leader, and no room for three copies.
  const first = await startNatsServer(`${directory}/n0`, {
    cluster: { name: 'n0', routes: ['nats://127.0.0.1:1'] },
  })
  context.after(() => first.stop())
  const second = await startNatsServer(`${directory}/n1`, {
    cluster: { name: 'n1', routes: [first.clusterUrl] },
  })
  context.after(() => second.stop())
  const connection = await connectTo(context, first.url)
  const config = { subjects: ['lupine.any.>'] }
  const { manager } = await until('a stream with one copy', async () => {
    const found = await jetstreamManager(connection).catch(() => undefined)
    const added = await found?.streams.add({ name: 'ANY', num_replicas: 1, ...config }).catch(() => undefined)
    return found !== undefined && added !== undefined && { manager: found }
  })
  const found = await createStream({ connection, manager, name: 'ANY' }, config)
  assert.deepEqual([found.config.name, found.config.num_replicas], ['ANY', 1])
})
