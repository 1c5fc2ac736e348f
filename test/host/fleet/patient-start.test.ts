import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Logger } from '../../../src/base/log/log.ts'
import { createRecordingLogger } from '../../bus/bus-fixture.ts'
import { until } from '../../helpers/until.ts'
import { startDeafStore } from './deaf-store.ts'
import { stageWithDemo, untilPlugin } from './fleet-stage.ts'

/** A host whose store goes away in the midst of its start. */

const waiting = "The start waits for the fleet's store"
const begun = 'The session of this host has begun'

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
