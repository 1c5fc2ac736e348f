import assert from 'node:assert/strict'
import { readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { jetstreamManager } from '@nats-io/jetstream'
import { systemClock } from '../../../src/base/time/clock.ts'
import { systemFileSystem } from '../../../src/base/files/file-system.ts'
import { silentLogger } from '../../../src/base/log/log.ts'
import { openFleetJournal } from '../../../src/fleet/journal/fleet-journal.ts'
import { journalStreamName, journalSubject, journalSubjects } from '../../../src/fleet/journal/subjects.ts'
import { connectStore } from '../../../src/fleet/store/connect-store.ts'
import { pluginIn } from '../../../src/journal/fold/evolve.ts'
import { encodeLine } from '../../../src/journal/lines/journal-line.ts'
import { journalFileName } from '../../../src/journal/segments/segment.ts'
import { configured, id, installation } from '../../helpers/any-fact.ts'
import { contentOf } from '../../helpers/content-of.ts'
import { everythingOf, readAll } from '../../helpers/journal-stage.ts'
import { connectTo, startStore } from '../../helpers/nats-server.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { until } from '../../helpers/until.ts'
import { openJournal } from '../fleet-stage.ts'
import { startHoldingProxy } from '../holding-proxy.ts'

/** What becomes of the journal of a fleet when its store fails, or is not what it should be. */

async function openHost(context: TestContext, url: string, directory: string) {
  const failures: string[] = []
  const { journal } = await openJournal(context, [url], {
    ...{ fleet: 'home', directory },
    failed: ({ message }) => void failures.push(message),
  })
  return { journal, failures }
}

async function managerOf(context: TestContext, url: string) {
  const connection = await connectTo(context, url)
  return { connection, manager: await jetstreamManager(connection) }
}

/** A server, and a directory with the copy of a fleet that was closed with three events. */
async function closedFleet(context: TestContext) {
  const server = await startStore(context)
  const directory = await temporaryDirectory(context)
  const { journal } = await openHost(context, server.url, directory)
  await journal.append([...installation(id), configured(id, { a: 1 })], 'http')
  const known = everythingOf(journal)
  await journal.close()
  return { server, directory, known, url: server.url }
}

test('a store without room says so at once, changes nothing, and takes the same change when there is some', async (context) => {
  const server = await startStore(context, { room: 2 * 1024 * 1024 })
  const { journal, failures } = await openHost(context, server.url, await temporaryDirectory(context))
  await journal.append(installation(id), 'http')
  const { connection, manager } = await managerOf(context, server.url)
  await manager.streams.add({ name: 'FILLER', subjects: ['filler'] })
  for (let isFull = false; !isFull;) {
    const answer = await connection.request('filler', Buffer.alloc(100_000))
    isFull = answer.json<{ error?: unknown }>().error !== undefined
  }
  // Less than what is left may still be taken.
  const change = [configured(id, { note: 'x'.repeat(200_000) })]
  const before = everythingOf(journal)
  await assert.rejects(journal.append(change, 'http'), {
    name: 'StoreFullError',
    message: /has no room \(.+\): raise max_file_store/,
  })
  assert.deepEqual(everythingOf(journal), before)
  await manager.streams.delete('FILLER')
  const [event] = await journal.append(change, 'http')
  assert.deepEqual([event?.seq, failures], [3, []])
})

test('what was acknowledged survives that the store is killed, and a host goes on when it is back', async (context) => {
  const server = await startStore(context)
  const { journal } = await openHost(context, server.url, await temporaryDirectory(context))
  await journal.append(installation(id), 'http')
  await server.stop('SIGKILL')
  const waiting = journal.append([configured(id, { while: 'away' })], 'http')
  // What the host knows can be read meanwhile.
  assert.equal(readAll(journal).length, 2)
  await server.start()
  const [event] = await waiting
  assert.equal(event?.seq, 3)
  await journal.append([configured(id, { after: true })], 'http')
  const { journal: other } = await openHost(context, server.url, await temporaryDirectory(context))
  assert.deepEqual(everythingOf(other), everythingOf(journal))
  assert.equal(other.state.seq, 4)
})

test('a host that only reads shows within moments what others write, after whatever has happened to the store', async (context) => {
  const server = await startStore(context)
  const proxy = await startHoldingProxy(context, Number(new URL(server.url).port))
  const { journal: reader } = await openHost(context, proxy.url, await temporaryDirectory(context))
  const { journal: writer } = await openHost(context, server.url, await temporaryDirectory(context))
  await writer.append(installation(id), 'http')
  const isRead = () => until('the event', async () => reader.state.seq === writer.state.seq, 20_000)
  const configure = (n: number) =>
    until('the store', () => writer.append([configured(id, { n })], 'http').catch(() => false))
  const { manager } = await managerOf(context, server.url)
  async function deleteConsumers(): Promise<true> {
    for (const { name } of await manager.consumers.list(journalStreamName('home')).next()) {
      await manager.consumers.delete(journalStreamName('home'), name)
    }
    return true
  }
  // The test's own connection may not be back yet.
  const forgetConsumers = () => until('the store', () => deleteConsumers().catch(() => false))
  await isRead()

  // Its way to the store is cut, and the server has forgotten by then what it was to hand out.
  await proxy.hold()
  await forgetConsumers()
  await configure(1)
  proxy.release()
  await isRead()

  await server.stop('SIGKILL')
  await server.start()
  await configure(2)
  await isRead()

  // Nothing tells it that what was to hand out the events is gone.
  await forgetConsumers()
  await configure(3)
  await isRead()
  assert.equal(pluginIn(reader.state, id).context.config.n, 3)
})

test('an append that the store does not answer is refused in time, and is there once or not at all', async (context) => {
  const server = await startStore(context)
  const { journal } = await openHost(context, server.url, await temporaryDirectory(context))
  await journal.append(installation(id), 'http')
  await server.stop('SIGKILL')
  await assert.rejects(journal.append([configured(id, { a: 1 })], 'http', 'key-1'), {
    name: 'StoreUnreachableError',
  })
  await server.start()
  const again = () => journal.append([configured(id, { b: 2 })], 'http')
  const [event] = await again().catch(again)
  assert.ok(event !== undefined)
  const types = readAll(journal).map(({ type }) => type)
  assert.ok(types.filter((type) => type === 'PluginConfigured').length <= 2)
  assert.equal(pluginIn(journal.state, id).context.config.b, 2)
})

test('a start fetches what the copy does not have, and a damaged end of the copy', async (context) => {
  const { url, directory, known } = await closedFleet(context)
  const path = join(directory, journalFileName)
  await truncate(path, (await stat(path)).size - 5)
  const { journal } = await openHost(context, url, directory)
  assert.deepEqual(everythingOf(journal), known)
})

const badStores: {
  title: string
  /** Makes the store of a closed fleet a bad one. */
  make: (context: TestContext, url: string, directory: string) => Promise<void>
  says: RegExp
  hasCopy: boolean
}[] = [
  {
    title: 'a stream that somebody has made anew',
    async make(context, url) {
      const { manager } = await managerOf(context, url)
      await manager.streams.delete(journalStreamName('home'))
    },
    says: /^The stream LUPINE_home_JOURNAL ends with event 0, and this host has seen event 3: somebody has emptied it/,
    hasCopy: true,
  },
  {
    title: 'the stream of another fleet under the same name',
    async make(context, url) {
      const { manager } = await managerOf(context, url)
      await manager.streams.delete(journalStreamName('home'))
      const { journal } = await openHost(context, url, await temporaryDirectory(context))
      await journal.append([...installation(id), configured(id, { a: 1 })], 'http')
      await journal.close()
    },
    says: /^The stream LUPINE_home_JOURNAL has another event 3 than this host's copy: it is not the fleet home/,
    hasCopy: true,
  },
  {
    title: 'a stream that somebody has emptied, for a host with a copy',
    async make(context, url) {
      await makePurged(context, url)
    },
    says: /^The stream LUPINE_home_JOURNAL begins with event 4: somebody has emptied it\. This host has a copy up to event 3/,
    hasCopy: true,
  },
  {
    title: 'a stream that somebody has emptied, for a new host',
    async make(context, url) {
      await makePurged(context, url)
    },
    says: /^The stream LUPINE_home_JOURNAL begins with event 4: somebody has emptied it\./,
    hasCopy: false,
  },
  {
    title: 'a stream that has lost its last event',
    async make(context, url) {
      await makeAnew(context, url, (known) => known.slice(0, 2))
    },
    says: /^The stream LUPINE_home_JOURNAL \(up to event 2\) lacks events that this host has seen \(up to event 3\): .* move /,
    hasCopy: true,
  },
  {
    title: 'a stream that has lost its last event, and has gone on without it',
    async make(context, url) {
      await makeAnew(context, url, (known) => known.slice(0, 2))
      const { journal } = await openHost(context, url, await temporaryDirectory(context))
      await journal.append(installation('@a/other'), 'http')
      await journal.close()
    },
    says: /^The stream LUPINE_home_JOURNAL \(up to event 4\) lacks events that this host has seen \(up to event 3\): .* move /,
    hasCopy: true,
  },
  {
    title: 'a stream from which somebody has taken an event that the copy does not have',
    async make(context, url) {
      const { manager, name } = await makeAnew(context, url, (known) => [...known, 'x', 'x'])
      await manager.streams.deleteMessage(name, 4)
    },
    says: /^The events 4 to 4 are missing in the stream LUPINE_home_JOURNAL: somebody has emptied it\. Put its files back/,
    hasCopy: true,
  },
  {
    title: 'a stream with other subjects',
    async make(context, url) {
      const { manager } = await managerOf(context, url)
      await manager.streams.delete(journalStreamName('home'))
      await manager.streams.add({ name: journalStreamName('home'), subjects: ['orders.>'] })
    },
    says: /^The stream LUPINE_home_JOURNAL is not the journal of the fleet home: it has the subjects orders/,
    hasCopy: true,
  },
  {
    title: 'a stream that forgets by itself',
    async make(context, url) {
      const { manager } = await managerOf(context, url)
      await manager.streams.update(journalStreamName('home'), { max_age: 3_600_000_000_000 })
    },
    says: /^The stream LUPINE_home_JOURNAL throws messages away by itself; take its limits/,
    hasCopy: true,
  },
  {
    title: 'a stream whose subjects another one has',
    async make(context, url) {
      const { manager } = await managerOf(context, url)
      await manager.streams.delete(journalStreamName('home'))
      await manager.streams.add({ name: 'OTHER', subjects: ['lupine.>'] })
    },
    says: /^The fleet's store refuses the stream LUPINE_home_JOURNAL: subjects overlap with an existing stream\.$/,
    hasCopy: true,
  },
  {
    title: 'an event of a newer host',
    async make(context, url) {
      const { connection } = await managerOf(context, url)
      const text = encodeLine({ version: 2, id: 'x', type: 'PluginEnabled', plugin: id, data: {} })
      const { jetstream } = await import('@nats-io/jetstream')
      await jetstream(connection).publish(journalSubject('home', id), text)
    },
    says: /^Event 4 of the stream LUPINE_home_JOURNAL cannot be taken in: it was written in format 2 by a newer Lupine; .* update this one\.$/,
    hasCopy: true,
  },
  {
    title: 'an event that is not as it was written',
    async make(context, url) {
      const { connection } = await managerOf(context, url)
      const text = encodeLine({ version: 1, id: 'x', type: 'PluginEnabled', plugin: id, data: {} })
      const { jetstream } = await import('@nats-io/jetstream')
      await jetstream(connection).publish(journalSubject('home', id), text.replace('Enabled', 'Disabled'))
    },
    says: /^Event 4 of the stream LUPINE_home_JOURNAL cannot be taken in: .*checksum/,
    hasCopy: true,
  },
]

/** With other messages, of those three that `closedFleet` made. The host itself makes streams that do not let that happen. */
async function makeAnew(
  context: TestContext,
  url: string,
  messagesOf: (known: Uint8Array[]) => (Uint8Array | string)[],
) {
  const { connection, manager } = await managerOf(context, url)
  const name = journalStreamName('home')
  const messages = [1, 2, 3].map((seq) => manager.streams.getMessage(name, { seq }))
  const known = (await Promise.all(messages)).map((message) => message?.data ?? new Uint8Array())
  await manager.streams.delete(name)
  await manager.streams.add({ name, subjects: [journalSubjects('home')] })
  const { jetstream } = await import('@nats-io/jetstream')
  for (const data of messagesOf(known)) await jetstream(connection).publish(journalSubject('home', id), data)
  return { manager, name }
}

/** As `closedFleet` made it, with all its messages thrown away; the host itself makes streams that do not let that happen. */
async function makePurged(context: TestContext, url: string): Promise<void> {
  const { connection, manager } = await managerOf(context, url)
  const name = journalStreamName('home')
  await assert.rejects(manager.streams.purge(name), /not permitted/)
  await manager.streams.delete(name)
  await manager.streams.add({ name, subjects: [journalSubjects('home')] })
  const { jetstream } = await import('@nats-io/jetstream')
  for (let n = 0; n < 3; n += 1) await jetstream(connection).publish(journalSubject('home', id), 'x')
  await manager.streams.purge(name)
}

for (const { title, make, says, hasCopy } of badStores) {
  test(`${title}: the start is refused with one line, and nothing is lost`, async (context) => {
    const { url, directory } = await closedFleet(context)
    await make(context, url, directory)
    const where = hasCopy ? directory : await temporaryDirectory(context)
    const before = await contentOf(where)
    await assert.rejects(openHost(context, url, where), (error: Error) => {
      assert.equal(error.name, 'StoreRefusedError')
      assert.match(error.message, says)
      assert.doesNotMatch(error.message, /\n/)
      return true
    })
    assert.deepEqual(await contentOf(where), before)
  })
}

test('a copy that is damaged in its middle can be moved away, and is fetched again', async (context) => {
  const { url, directory, known } = await closedFleet(context)
  const path = join(directory, journalFileName)
  await writeFile(path, (await readFile(path, 'utf8')).replace('PluginInstalled', 'PluginInstAlled'))
  await assert.rejects(openHost(context, url, directory), {
    name: 'StoreRefusedError',
    message:
      /is damaged at line 2, and nothing says that .* If it is, move .* away, but keep it, .* fetched again\. /,
  })
  const { journal } = await openHost(context, url, await temporaryDirectory(context))
  assert.deepEqual(everythingOf(journal), known)
})

test('a damaged copy is put aside only where the stream has all that can be read of it, whatever .host.json was late to say', async (context) => {
  const { url, directory, known } = await closedFleet(context)
  const { journal } = await openHost(context, url, directory)
  await journal.append([configured(id, { b: 2 })], 'http')
  await journal.close()
  await makeAnew(context, url, (messages) => messages.slice(0, 1))
  const path = join(directory, journalFileName)
  await writeFile(path, (await readFile(path, 'utf8')).replace('PluginConfigured', 'PluginConfIgured'))
  const before = await contentOf(directory)
  const written = { seq: 1, event: known.all[0]?.id ?? '' }
  await assert.rejects(openJournal(context, [url], { fleet: 'home', directory, written }), {
    name: 'StoreRefusedError',
    message:
      /is damaged at line 3, and the stream .* \(up to event 1\) lacks events that it has \(up to event 2\): .* but keep it/,
  })
  assert.deepEqual(await contentOf(directory), before)
})

test('a stream that is emptied while a host runs: it says so once, and takes nothing more', async (context) => {
  const server = await startStore(context)
  const { journal, failures } = await openHost(context, server.url, await temporaryDirectory(context))
  await journal.append(installation(id), 'http')
  const { manager } = await managerOf(context, server.url)
  const name = journalStreamName('home')
  await manager.streams.delete(name)
  await manager.streams.add({ name, subjects: [journalSubjects('home')] })
  for (let n = 0; n < 2; n += 1) {
    await assert.rejects(journal.append([configured(id, { n })], 'http'), { name: 'StoreRefusedError' })
  }
  assert.equal(failures.length, 1)
  assert.equal((await manager.streams.info(name)).state.messages, 0)
  assert.equal(readAll(journal).length, 2)
})

test('wrong credentials, a store without JetStream, and none at all: one line each', async (context) => {
  const lines = ['authorization { user: lupine, password: correct }']
  const server = await startStore(context, { lines, jetStream: false })
  const passwordFile = join(await temporaryDirectory(context), 'password')
  const address = { servers: [server.url], name: 'test', passwordFile }
  for (const login of ['lupine:wrong', 'other:correct']) {
    await writeFile(passwordFile, login)
    await assert.rejects(connectStore(address), {
      name: 'StoreRefusedError',
      message:
        /^The fleet's store at nats:\/\/127\.0\.0\.1:\d+ refuses this login; give the user and password/,
    })
  }
  await assert.rejects(connectStore({ servers: [server.url], name: 'test' }), { name: 'StoreRefusedError' })
  await writeFile(passwordFile, 'lupine:correct\n')
  const connection = await connectStore(address)
  context.after(() => connection.close())
  const directory = await temporaryDirectory(context)
  await assert.rejects(
    openFleetJournal({
      ...{ connection, fleet: 'home', directory, files: systemFileSystem, clock: systemClock },
      logger: silentLogger,
    }),
    {
      name: 'StoreRefusedError',
      message: "The fleet's store has no JetStream; start nats-server with --jetstream and a --store_dir.",
    },
  )
  await server.stop()
  await assert.rejects(connectStore(address), {
    name: 'StoreUnreachableError',
    message: /^The fleet's store at nats:.* cannot be reached \(.*\); start it, or correct its address\.$/,
  })
})

test('an event that is larger than the store takes is refused, and the journal goes on', async (context) => {
  const server = await startStore(context, { lines: ['max_payload: 20000'] })
  const { journal } = await openHost(context, server.url, await temporaryDirectory(context))
  await journal.append(installation(id), 'http')
  await assert.rejects(journal.append([configured(id, { text: 'x'.repeat(30_000) })], 'http'), {
    code: 'body_too_large',
  })
  const [event] = await journal.append([configured(id, { a: 1 })], 'http')
  assert.equal(event?.seq, 3)
})
