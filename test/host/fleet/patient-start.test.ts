import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Logger } from '../../../src/base/log/log.ts'
import type { JournalEvent } from '../../../src/schema/journal/journal-event.ts'
import { createRecordingLogger } from '../../bus/bus-fixture.ts'
import { failingFileSystem } from '../../helpers/failing-file-system.ts'
import { until } from '../../helpers/until.ts'
import { startDeafStore } from './deaf-store.ts'
import { stageWithDemo, untilPlugin } from './fleet-stage.ts'

/** A host whose store goes away in the midst of its start. */

const waiting = "The start waits for the fleet's store"
const demo = '@fixtures/demo'
const path = `/api/plugins/${encodeURIComponent(demo)}`
const begun = 'The session of this host has begun'

/** Where a host answers questions while its start waits. */
function answering(logger: ReturnType<typeof createRecordingLogger>): Promise<string> {
  return until('the host to answer questions', async () => {
    const line = logger.lines.find(({ message }) => message.startsWith('Questions are answered meanwhile'))
    return line?.fields?.http as string | undefined
  })
}

test('a start for which the store does not hand out the journal answers questions meanwhile, and goes on at the same address', async (t) => {
  const { stage } = await stageWithDemo(t)
  const deaf = await startDeafStore(t, stage.nats.url)
  const logger = createRecordingLogger()
  deaf.lose(/\$JS\.API\.STREAM\.INFO\.LUPINE_test_JOURNAL/)
  const ending = new AbortController()
  const starting = stage.start('b', { store: deaf.url, logger, interrupt: ending.signal })
  t.after(() => {
    ending.abort()
    return starting.catch(() => undefined)
  })
  const url = await answering(logger)
  assert.equal((await fetch(`${url}/api/plugins`)).status, 200)
  deaf.lose(undefined)
  const b = await starting
  assert.equal(b.url, url)
  await untilPlugin(b, '@fixtures/demo', 'to be known', ({ state }) => state === 'running')
})

for (const isBehind of [true, false]) {
  const which = isBehind ? 'lacks what has happened since' : 'has everything'

  test(`a host that is started on a full disk answers questions, and starts when there is room: its copy of the journal ${which}`, async (t) => {
    const { stage, a } = await stageWithDemo(t)
    const before = await stage.start('b')
    await untilPlugin(before, demo, 'to be known', ({ state }) => state === 'running')
    await before.host.close()
    if (isBehind) await a.request('POST', `${path}/toggle`, { body: { enabled: false } })
    let isFull = true
    const files = failingFileSystem((operation) => isFull && /^write/.test(operation))
    const logger = createRecordingLogger()
    const ending = new AbortController()
    const starting = stage.start('b', { files, logger, interrupt: ending.signal })
    t.after(() => {
      ending.abort()
      return starting.catch(() => undefined)
    })
    const line = await until('the start to say that it waits', async () =>
      logger.lines.find(({ message }) => message === 'The start waits for room on the disk'),
    )
    assert.match(String(line.fields?.error), /^The disk of the data directory is full/)
    if (isBehind) {
      const url = await answering(logger)
      const shown = (await (await fetch(`${url}/api/plugins`)).json()) as { plugins: { state: string }[] }
      assert.deepEqual(
        shown.plugins.map(({ state }) => state),
        ['running'],
      )
      const refused = await fetch(`${url}${path}/reload`, { method: 'POST' })
      assert.equal(refused.status, 507)
      assert.match(await refused.text(), /has just started without room for its copy.*"code":"storage_full"/)
      const readiness = (await (await fetch(`${url}/readyz`)).json()) as { reasons: string[] }
      assert.match(String(readiness.reasons[0]), /^the start waits\. The disk of the data directory is full/)
    }
    isFull = false
    const b = await starting
    const state = isBehind ? 'unloaded' : 'running'
    await untilPlugin(b, demo, `to be ${state}`, (plugin) => plugin.state === state)
    assert.ok(logger.lines.some(({ message }) => message === 'There is room on the disk again'))
    const { events } = (await b.request('GET', '/api/history')).body as { events: JournalEvent[] }
    const joined = events.filter((event) => event.type === 'HostJoined' && event.data.host === 'b')
    assert.equal(joined.length, 2, 'once in each run')
  })
}

/** Does something as soon as the host says that line. */
function onLine(logger: Logger, line: string, task: () => void): Logger {
  const hearing =
    (level: 'debug' | 'info' | 'warn' | 'error'): Logger['info'] =>
    (message, fields) => {
      logger[level](message, fields)
      if (message === line) task()
    }
  return {
    ...logger,
    debug: hearing('debug'),
    info: hearing('info'),
    warn: hearing('warn'),
    error: hearing('error'),
  }
}

test('a start for which the store hands nothing out says so once, and goes on when it does', async (t) => {
  const { stage } = await stageWithDemo(t)
  const deaf = await startDeafStore(t, stage.nats.url)
  const logger = createRecordingLogger()
  // Of the buckets with sessions and leases; the journal is another stream.
  deaf.lose(/CONSUMER\.MSG\.NEXT\.KV_LUPINE/)
  let isReady = false
  const starting = stage.start('b', { store: deaf.url, logger }).finally(() => (isReady = true))
  const waits = () => logger.lines.filter(({ message }) => message === waiting)
  await until('the start to say that it waits', async () => waits().length > 0)
  const { lost } = deaf
  await until('another try', async () => deaf.lost > lost)
  assert.deepEqual([isReady, waits().length], [false, 1])
  deaf.lose(undefined)
  const b = await starting
  await untilPlugin(b, '@fixtures/demo', 'to be known', ({ state }) => state === 'running')
})

/** Less than anything that the start waits for: 5 s for an answer, 6 s for a session. */
const atOnce = 4_000

for (const { title, cut, when } of [
  {
    title: 'is asked for its streams',
    cut: /\$JS\.API\.STREAM\.INFO\.KV_LUPINE_test_VALUES/,
    when: undefined,
  },
  { title: 'is to hand out the journal', cut: /CONSUMER\.MSG\.NEXT\.LUPINE_test_JOURNAL/, when: undefined },
  { title: 'is to hand out the sessions', cut: /CONSUMER\.MSG\.NEXT\.KV_LUPINE/, when: undefined },
  { title: 'has just taken the session', cut: /./, when: begun },
]) {
  test(`a start ends at once when it is to, also while the store is silent that ${title}`, async (t) => {
    const { stage } = await stageWithDemo(t)
    const deaf = await startDeafStore(t, stage.nats.url)
    const recording = createRecordingLogger()
    const ending = new AbortController()
    let outcome: unknown
    if (when === undefined) deaf.lose(cut)
    const logger = when === undefined ? recording : onLine(recording, when, () => deaf.lose(cut))
    void stage.start('b', { store: deaf.url, logger, interrupt: ending.signal }).then(
      () => (outcome = 'ready'),
      (error: unknown) => (outcome = error),
    )
    await until('it to be silent', async () => deaf.lost > 0)
    ending.abort()
    await until('the start to end', async () => outcome !== undefined, atOnce)
    assert.equal(outcome instanceof Error && outcome.name, 'StartInterrupted')
    // In order: its session is no longer there for another one of its name to wait for.
    assert.equal((await stage.start('b')).host.id, 'b')
  })
}
