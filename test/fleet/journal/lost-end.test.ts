import assert from 'node:assert/strict'
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { jetstreamManager } from '@nats-io/jetstream'
import { systemClock } from '../../../src/base/time/clock.ts'
import { journalStreamName } from '../../../src/fleet/journal/subjects.ts'
import { createRecordingLogger } from '../../bus/bus-fixture.ts'
import { configured, id, installation, other } from '../../helpers/any-fact.ts'
import type { Fact } from '../../../src/schema/journal/journal-event.ts'
import { failingFileSystem } from '../../helpers/failing-file-system.ts'
import { everythingOf } from '../../helpers/journal-stage.ts'
import { connectTo, startNatsServer } from '../../helpers/nats-server.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { until } from '../../helpers/until.ts'
import { openJournal } from '../fleet-stage.ts'

/** A store that was put back from a backup, or has lost its end in a power cut, while a host runs that has seen more. */

const lost =
  /does not have event 4 as this host has seen it: .* put back from an older backup\. .* move .* away, but keep it/

/** A host that has seen an event more than the store has by now. */
async function stageWithLostEnd(context: TestContext, before: readonly Fact[] = []) {
  const folder = await temporaryDirectory(context)
  const server = await startNatsServer(folder)
  context.after(() => server.stop())
  let ahead = 0
  const logger = createRecordingLogger()
  const failures: string[] = []
  const { journal } = await openJournal(context, [server.url], {
    ...{ fleet: 'home', logger, failed: ({ message }: Error) => void failures.push(message) },
    clock: { ...systemClock, monotonic: () => systemClock.monotonic() + ahead },
  })
  await journal.append([...installation(id), configured(id, { a: 1 }), ...before], 'http')
  const [store, backup] = [join(folder, 'nats-server', 'store'), join(folder, 'backup')]
  await server.stop('SIGTERM')
  await cp(store, backup, { recursive: true })
  await server.start()
  await until('an event more', () =>
    journal.append([configured(id, { a: 2 })], 'http').catch(() => undefined),
  )
  assert.equal(journal.state.seq, 4 + before.length)
  await server.stop('SIGTERM')
  await rm(store, { recursive: true })
  await cp(backup, store, { recursive: true })
  return {
    ...{ server, journal, logger, failures },
    goOn(milliseconds: number) {
      ahead += milliseconds
    },
  }
}

test('a host does not go on with what others have written since in the place of what it has seen', async (context) => {
  const { server, journal, failures } = await stageWithLostEnd(context)
  const known = everythingOf(journal)
  await server.start()
  const { journal: others } = await openJournal(context, [server.url], { fleet: 'home' })
  await others.append([...installation(other), configured(other, { b: 1 })], 'http')
  await until('the host to say so', async () => failures.length > 0)
  assert.match(failures.join('\n'), lost)
  await assert.rejects(journal.append([configured(id, { a: 3 })], 'http'), lost)
  assert.deepEqual(everythingOf(journal), known)
})

test('what a host was writing down while the store was away is not put on top of less than it has seen', async (context) => {
  const { server, journal } = await stageWithLostEnd(context, installation(other))
  // Nothing is missing of this one.
  const refused = assert.rejects(journal.append([configured(other, { b: 1 })], 'http'))
  await server.start()
  await refused
  const manager = await jetstreamManager(await connectTo(context, server.url))
  const { state } = await manager.streams.info(journalStreamName('home'))
  assert.equal(state.last_seq, journal.state.seq - 1)
})

test('a host writes nothing on top of a store that lacks what it has seen, and ends when that does not come back', async (context) => {
  const { server, journal, logger, failures, goOn } = await stageWithLostEnd(context)
  await server.start()
  await until('the host to notice', async () =>
    logger.lines.some(
      ({ message, fields }) => message.includes('cannot be followed') && lost.test(String(fields?.error)),
    ),
  )
  // Nothing is missing of this one.
  await assert.rejects(journal.append(installation(other), 'http'), lost)
  const manager = await jetstreamManager(await connectTo(context, server.url))
  assert.equal((await manager.streams.info(journalStreamName('home'))).state.last_seq, 3)
  assert.deepEqual(failures, [])
  await until('the host to end', async () => {
    goOn(1_000)
    return failures.length > 0
  })
  assert.match(failures.join('\n'), lost)
})

for (const writer of ['another host', 'the same host'])
  test(`what waits for a full disk is not taken in when the store is put back without it, and ${writer} goes on`, async (context) => {
    const folder = await temporaryDirectory(context)
    const server = await startNatsServer(folder)
    context.after(() => server.stop())
    let isFull = false
    const logger = createRecordingLogger()
    const failures: string[] = []
    const { journal } = await openJournal(context, [server.url], {
      ...{ fleet: 'home', logger, failed: ({ message }: Error) => void failures.push(message) },
      files: failingFileSystem((operation) => isFull && operation === 'write'),
    })
    const { journal: others } = await openJournal(context, [server.url], { fleet: 'home' })
    const [store, backup] = [join(folder, 'nats-server', 'store'), join(folder, 'backup')]
    await others.append([...installation(id), ...installation(other)], 'http')
    await until('both to know', async () => journal.state.seq === 4)
    await server.stop('SIGTERM')
    await cp(store, backup, { recursive: true })
    await server.start()
    isFull = true
    await until('an event more', () =>
      others.append([configured(id, { a: 1 })], 'http').catch(() => undefined),
    )
    await until('the disk to refuse it', async () =>
      logger.lines.some(({ message }) => message.includes('could not be written')),
    )
    await others.close()
    await server.stop('SIGTERM')
    await rm(store, { recursive: true })
    await cp(backup, store, { recursive: true })
    await server.start()
    const { journal: later } = await openJournal(context, [server.url], { fleet: 'home' })
    if (writer === 'another host') await later.append([configured(other, { b: 1 })], 'http')
    const { consumers } = await jetstreamManager(await connectTo(context, server.url))
    await until(
      'the host to follow again, too',
      async () => (await consumers.list(journalStreamName('home')).next()).length === 2,
    )
    isFull = false
    if (writer === 'the same host')
      await until('it to write', () =>
        journal.append([configured(other, { b: 1 })], 'http').catch(() => undefined),
      )
    await until('both to know', async () => journal.state.seq === 5 && later.state.seq === 5)
    assert.deepEqual([journal.eventId(5), failures], [later.eventId(5), []])
  })
