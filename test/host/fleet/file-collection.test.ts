import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Clock, systemClock } from '../../../src/base/time/clock.ts'
import { createFleetFiles, filesBucketName } from '../../../src/fleet/files/fleet-files.ts'
import { openObjectBucket } from '../../../src/fleet/files/object-bucket.ts'
import { collectInterval, createFileCollection } from '../../../src/host/fleet/file-collection.ts'
import { integrityOf } from '../../../src/repository/directories/plugin-directory.ts'
import { defaultRepositoryLimits } from '../../../src/repository/limits.ts'
import type { PluginFact } from '../../../src/schema/journal/journal-event.ts'
import { createRecordingLogger } from '../../bus/bus-fixture.ts'
import { createFleetStage } from '../../fleet/fleet-stage.ts'
import { standardFixtures } from '../../helpers/fixture-repository.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { connectTo } from '../../helpers/nats-server.ts'
import { until } from '../../helpers/until.ts'
import { install, startFleetStage } from './fleet-stage.ts'

const stage = createFleetStage()
const plugin = '@fixtures/lamp'

function release(version: string) {
  const contents = new Map([
    ['plugin.json', Buffer.from('{"id":"lamp"}')],
    ['init.lua', Buffer.from(`return "${version}"`)],
  ])
  const asked = { version, repository: 'fixtures' }
  return { contents, asked, done: { ...asked, indexVersion: version, integrity: integrityOf(contents) } }
}

test('files that no plugin names any more go, those of the versions that it can go back to stay', async (context) => {
  const fleet = stage.newFleet()
  const clock = createManualClock()
  const logger = createRecordingLogger()
  const bucket = await openObjectBucket(await stage.connection(context), filesBucketName(fleet))
  const files = createFleetFiles({ bucket, clock, limits: defaultRepositoryLimits })
  const journal = await stage.openHost(context, fleet)
  const looks: Promise<number>[] = []
  const collection = createFileCollection({
    ...{ state: () => journal.state, clock, logger },
    files: {
      collect(named) {
        const look = files.collect(named)
        looks.push(look)
        return look
      },
    },
  })
  /** How many went in two looks. */
  async function look(): Promise<number[]> {
    for (let times = 0; times < 2; times += 1) {
      clock.advance(collectInterval)
      await looks.at(-1)
    }
    return Promise.all(looks.splice(0))
  }
  const [first, second, never] = ['1.0.0', '2.0.0', '3.0.0'].map(release)
  assert.ok(first && second && never)
  for (const { contents } of [first, second, never]) await files.put(contents.values())
  const facts: PluginFact[] = [
    { type: 'PluginInstallRequested', plugin, data: first.asked },
    { type: 'PluginInstalled', plugin, data: first.done },
    { type: 'PluginUpdated', plugin, data: { ...second.done, from: '1.0.0' } },
  ]
  await journal.append(facts, 'http')

  clock.advance(collectInterval)
  assert.equal(looks.length, 0, 'another host does it')
  collection.begin()
  collection.begin()
  assert.deepEqual(await look(), [0, 1])
  for (const { done } of [first, second]) await files.fetch(plugin, done.integrity)
  await assert.rejects(files.fetch(plugin, never.done.integrity), /init\.lua .* is missing/)

  await journal.append([{ type: 'PluginUninstalled', plugin, data: { purged: [] } }], 'http')
  assert.deepEqual(await look(), [0, 3])
  assert.deepEqual(await bucket.names(), [])
  assert.deepEqual(
    logger.lines.map(({ level, fields }) => [level, fields]),
    [
      ['info', { count: 1 }],
      ['info', { count: 3 }],
    ],
  )
  collection.end()
  clock.advance(collectInterval)
  assert.equal(looks.length, 0)
})

test('files that could not be removed are said, but not by a host that does not do it any more', async () => {
  const clock = createManualClock()
  const logger = createRecordingLogger()
  const failed: Promise<number>[] = []
  const collection = createFileCollection({
    ...{ state: () => ({ plugins: new Map() }), clock, logger },
    files: {
      collect() {
        const look = Promise.reject<number>(new Error('no answer'))
        failed.push(look)
        return look
      },
    },
  })
  collection.begin()
  clock.advance(collectInterval)
  await Promise.allSettled(failed)
  clock.advance(collectInterval)
  collection.end()
  await Promise.allSettled(failed)
  assert.deepEqual(
    logger.lines.map(({ fields }) => fields),
    [{ error: 'no answer' }],
  )
})

test('the host that speaks for its fleet removes the files of a plugin that is uninstalled', async (context) => {
  const looks = new Set<() => void>()
  let passed = 0
  const clock: Clock = {
    ...systemClock,
    monotonic: () => systemClock.monotonic() + passed,
    schedule(milliseconds, callback) {
      if (milliseconds !== collectInterval) return systemClock.schedule(milliseconds, callback)
      looks.add(callback)
      return { cancel: () => void looks.delete(callback) }
    },
  }
  const hosts = await startFleetStage(context, standardFixtures)
  const host = await hosts.start('a', { clock })
  await install(host, '@fixtures/demo')
  const connection = await connectTo(context, hosts.nats.url)
  const bucket = await openObjectBucket(connection, filesBucketName('test'))
  assert.notDeepEqual(await bucket.names(), [])
  await host.request('DELETE', `/api/plugins/${encodeURIComponent('@fixtures/demo')}`)
  await until('the files to go', async () => {
    for (const look of [...looks]) look()
    passed += collectInterval
    return (await bucket.names()).length === 0
  })
})
