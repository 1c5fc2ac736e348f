import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jetstreamManager } from '@nats-io/jetstream'
import { journalStreamName } from '../../../src/fleet/journal/subjects.ts'
import { configured, id, installation } from '../../helpers/any-fact.ts'
import { startStoreCluster } from '../../helpers/nats-server.ts'
import { until } from '../../helpers/until.ts'
import { openJournal } from '../fleet-stage.ts'

test('a host that only reads goes on when the server dies that handed the events out to it', async (context) => {
  const servers = await startStoreCluster(context)
  const openHost = () =>
    openJournal(
      context,
      servers.map(({ url }) => url),
      { fleet: 'home' },
    )
  // The servers have to find each other first.
  const { journal: writer, connection } = await until('the servers', () => openHost().catch(() => undefined))
  await writer.append(installation(id), 'http')
  const { journal: reader } = await openHost()
  const manager = await jetstreamManager(connection)
  const append = (n: number) =>
    until('the store', () => writer.append([configured(id, { n })], 'http').catch(() => undefined))
  for (let round = 0; round < 3; round += 1) {
    const consumers = await manager.consumers.list(journalStreamName('home')).next()
    const leader = servers[Number(consumers[round % consumers.length]?.cluster?.leader?.slice(1))]
    assert.ok(leader !== undefined)
    await leader.stop('SIGKILL')
    await append(round)
    await until('the event', async () => reader.state.seq === writer.state.seq, 20_000)
    await leader.start()
    await until('the store', () => manager.getAccountInfo().catch(() => undefined))
  }
})
