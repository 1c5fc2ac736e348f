import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jetstreamManager } from '@nats-io/jetstream'
import { systemClock } from '../../../src/base/time/clock.ts'
import { systemFileSystem } from '../../../src/base/files/file-system.ts'
import { silentLogger } from '../../../src/base/log/log.ts'
import { openFleetJournal } from '../../../src/fleet/journal/fleet-journal.ts'
import { journalStreamName } from '../../../src/fleet/journal/subjects.ts'
import { configured, id, installation } from '../../helpers/any-fact.ts'
import { connectTo, startStoreCluster } from '../../helpers/nats-server.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { until } from '../../helpers/until.ts'

test('a host that only reads goes on when the server dies that handed the events out to it', async (context) => {
  const servers = await startStoreCluster(context)
  async function openHost(urls: string[]) {
    const connection = await connectTo(context, ...urls)
    const directory = await temporaryDirectory(context)
    const journal = await openFleetJournal({
      ...{
        connection,
        fleet: 'home',
        directory,
        files: systemFileSystem,
        clock: systemClock,
        logger: silentLogger,
      },
    })
    context.after(() => journal.close())
    return { connection, journal }
  }

  const urls = servers.map(({ url }) => url)
  // The servers have to find each other first.
  const { journal: writer, connection } = await until('the servers', () =>
    openHost(urls).catch(() => undefined),
  )
  await writer.append(installation(id), 'http')
  const { journal: reader } = await openHost(urls)
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
