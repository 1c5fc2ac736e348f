import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jetstream, jetstreamManager, type StreamInfo } from '@nats-io/jetstream'
import { type Clock, systemClock } from '../../../src/base/time/clock.ts'
import { systemFileSystem } from '../../../src/base/files/file-system.ts'
import { silentLogger } from '../../../src/base/log/log.ts'
import { openFleetJournal } from '../../../src/fleet/journal/fleet-journal.ts'
import { journalStreamName, journalSubjects } from '../../../src/fleet/journal/subjects.ts'
import { StoreUnreachableError } from '../../../src/fleet/store/store-errors.ts'
import { openStoreStream } from '../../../src/fleet/store/store-stream.ts'
import { pluginIn } from '../../../src/journal/fold/evolve.ts'
import { configured, id, installation } from '../../helpers/any-fact.ts'
import { everythingOf, readAll } from '../../helpers/journal-stage.ts'
import { connectTo, startStoreCluster } from '../../helpers/nats-server.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { until } from '../../helpers/until.ts'
import { openJournal } from '../fleet-stage.ts'

test('with three servers three copies are kept, and what was acknowledged survives the death of the leader', async (context) => {
  const servers = await startStoreCluster(context)
  const openHost = () =>
    openJournal(
      context,
      servers.map(({ url }) => url),
      { fleet: 'home' },
    )

  // While the servers had not found each other a host got one copy.
  const subjects = [journalSubjects('home')]
  const early = { name: journalStreamName('home'), subjects, deny_delete: true, deny_purge: true }
  const administrator = await connectTo(context, ...servers.map(({ url }) => url))
  await until('JetStream', async () => {
    const manager = await jetstreamManager(administrator).catch(() => undefined)
    return await manager?.streams.add({ ...early, num_replicas: 1 }).catch(() => undefined)
  })
  // The servers have to find each other first, also again.
  const whenReady = () =>
    until('the servers', async () => {
      const opened = await openHost().catch(() => undefined)
      if (opened === undefined || opened.journal.replicas === 3) return opened
      await opened.journal.close()
      return undefined
    })
  const { connection, journal } = await whenReady()
  // While copies are made nothing may be answered.
  await until('the copies', () =>
    journal.append(installation(id), 'http', 'installed').catch(() => undefined),
  )

  const acknowledged: number[] = []
  /** Tries until it is done, as a client with an Idempotency-Key does. */
  async function configure(n: number): Promise<void> {
    const key = `key-${n}`
    while (journal.recallRequest(key) === undefined) {
      await journal.append([configured(id, { n })], 'http', key).catch((error: unknown) => {
        assert.ok(error instanceof StoreUnreachableError, String(error))
      })
    }
    acknowledged.push(n)
  }

  for (let n = 0; n < 20; n += 1) await configure(n)
  const info = await (await jetstreamManager(connection)).streams.info(journalStreamName('home'))
  const leader = servers[Number(info.cluster?.leader?.slice(1))]
  assert.ok(leader !== undefined)
  const killed = leader.stop('SIGKILL')
  for (let n = 20; n < 40; n += 1) await configure(n)
  await killed
  await leader.start()
  for (let n = 40; n < 60; n += 1) await configure(n)

  const late = await whenReady()
  assert.deepEqual(everythingOf(late.journal), everythingOf(journal))
  const numbers = readAll(late.journal).flatMap((event) =>
    event.type === 'PluginConfigured' ? [event.data.config.n] : [],
  )
  assert.deepEqual(numbers, acknowledged)
  assert.equal(pluginIn(late.journal.state, id).context.config.n, 59)
})

test('who has opened a stream that had one copy finds all of it when its server dies right after', async (context) => {
  const servers = await startStoreCluster(context)
  const connection = await connectTo(context, ...servers.map(({ url }) => url))
  const name = 'COPIES'
  const manager = await until('JetStream', () => jetstreamManager(connection).catch(() => undefined))
  await until('the stream', () =>
    manager.streams.add({ name, subjects: ['copies'], num_replicas: 1 }).catch(() => undefined),
  )
  const messages = 500
  const store = jetstream(connection)
  for (let n = 0; n < messages; n += 1) await store.publish('copies', new Uint8Array(20_000))
  const hasCopies = ({ cluster }: StreamInfo): boolean =>
    cluster?.replicas?.length === 2 && cluster.replicas.every(({ current }) => current)
  let begun = 0
  // Servers that have not found each other yet cannot keep more copies.
  const opened = await until('the copies', async () => {
    const config = { subjects: ['copies'] }
    begun = performance.now()
    const stream = await openStoreStream(connection, { name, config, check: () => undefined }).catch(
      () => undefined,
    )
    return stream?.info.config.num_replicas === 3 ? stream : undefined
  })
  if (!hasCopies(opened.info)) {
    const waited = performance.now() - begun
    assert.ok(waited > 4_000, `it waited for ${waited} ms only`)
    // On a busy machine that is not enough.
    await until('all of the copies', async () => hasCopies(await manager.streams.info(name)))
  }
  const holder = servers[Number(opened.info.cluster?.leader?.slice(1))]
  assert.ok(holder !== undefined)
  await holder.stop('SIGKILL')
  const last = await until('another leader', () => opened.get({ seq: messages }).catch(() => undefined))
  assert.equal(last.seq, messages)
})

test('a stream that several hosts ask for at once is not taken for replaced, whichever server answers for it later', async (context) => {
  const servers = await startStoreCluster(context)
  const name = 'TOGETHER'
  const config = { subjects: ['together'] }
  const connections = await Promise.all(
    servers.map(async ({ url }) => {
      const connection = await connectTo(context, url)
      return connection
    }),
  )
  const managers = await Promise.all(
    connections.map((connection) =>
      until('JetStream', () => jetstreamManager(connection).catch(() => undefined)),
    ),
  )
  // With one copy each server may keep the time of the request that it has heard of.
  await Promise.all(
    managers.map((manager) =>
      until('the stream', () =>
        manager.streams.add({ name, ...config, num_replicas: 1 }).catch(() => undefined),
      ),
    ),
  )
  const connection = await connectTo(context, ...servers.map(({ url }) => url))
  const opened = await until('the copies', async () => {
    const stream = await openStoreStream(connection, { name, config, check: () => undefined }).catch(
      () => undefined,
    )
    return stream?.info.config.num_replicas === 3 ? stream : undefined
  })
  await opened.publish('together', 'something', {})
  for (const server of servers) {
    await server.stop('SIGKILL')
    await until('another leader', async () => {
      const isReplaced = await opened.isReplaced().catch(() => undefined)
      assert.notEqual(isReplaced, true)
      return isReplaced === false ? true : undefined
    })
    await server.start()
    await until('its copy', () => server.isCurrent().catch(() => false))
  }
})

test('that the stream is not there is believed of three servers when it has lasted', async (context) => {
  const servers = await startStoreCluster(context)
  const connection = await connectTo(context, ...servers.map(({ url }) => url))
  let later = 0
  const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + later }
  const told: string[] = []
  const failures: string[] = []
  const opening = {
    ...{ connection, fleet: 'home', directory: await temporaryDirectory(context), clock },
    ...{ files: systemFileSystem, logger: { ...silentLogger, warn: (text: string) => void told.push(text) } },
    failed: ({ message }: Error) => void failures.push(message),
  }
  const journal = await until('the servers', () => openFleetJournal(opening).catch(() => undefined))
  context.after(() => journal.close())
  await until('the first events', () =>
    journal.append(installation(id), 'http', 'installed').catch(() => undefined),
  )
  const manager = await jetstreamManager(connection)
  await until('the deletion', () => manager.streams.delete(journalStreamName('home')).catch(() => undefined))
  later += 5_000
  await until('another try to follow', async () =>
    told.includes("The fleet's journal cannot be followed; it is tried again"),
  )
  assert.deepEqual(failures, [])
  later += 15_000
  await until('the end', async () => failures.length > 0)
  assert.deepEqual(failures, ['The stream LUPINE_home_JOURNAL was deleted; put it back and start again.'])
  assert.equal(readAll(journal).length, 2)
})
