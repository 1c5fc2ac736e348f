import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { sharedKeySubject, valuesStreamName } from '../../../src/fleet/values/value-names.ts'
import { shortRunsFile } from '../../../src/host/fleet/membership/short-runs.ts'
import { createRecordingLogger } from '../../bus/bus-fixture.ts'
import { standardFixtures } from '../../helpers/fixture-repository.ts'
import { connectTo } from '../../helpers/nats-server.ts'
import { until } from '../../helpers/until.ts'
import { install, stageWithDemo, startFleetStage, untilPlugin } from './fleet-stage.ts'

test('of two live hosts with one name the second ends, with one line, and tells the fleet nothing; the first goes on', async (t) => {
  const stage = await startFleetStage(t, standardFixtures)
  const a = await stage.start('a', { labels: ['real'] })
  await install(a, '@fixtures/demo')
  const b = await stage.start('b')
  const facts = a.host.lifecycle.lastSeq
  const logger = createRecordingLogger()
  const settings = { safeMode: true }
  let isRefused = false
  const refused = assert
    .rejects(
      stage.start('a', { directory: 'another', labels: ['false'], logger, settings }),
      /^StartError: Another live host of the fleet test is called a .*give this one another HOST_ID, or stop the other\.$/,
    )
    .finally(() => (isRefused = true))
  // Nor does it answer in place of the first.
  const answers = new Set<number>()
  await until('the second to end', async () => {
    const { status } = await b.request('PUT', '/api/plugins/demo/controls/level', { body: { value: 3 } })
    answers.add(status)
    return isRefused
  })
  await refused
  assert.deepEqual([...answers], [200])
  assert.equal(a.host.lifecycle.lastSeq, facts)
  assert.ok(!logger.lines.some(({ message }) => message === 'ready'))
  const [first] = (await b.request('GET', '/api/hosts')).body.hosts
  assert.deepEqual([first.address, first.labels, first.draining], [a.url, ['real'], false])
  const { state, host } = await untilPlugin(b, '@fixtures/demo', 'to run', (plugin) => plugin.host === 'a')
  assert.deepEqual([state, host], ['running', 'a'])
})

test('a host with another key than the others is refused with one line, also before they have a secret, and changes nothing', async (t) => {
  const stage = await startFleetStage(t, standardFixtures)
  const a = await stage.start('a')
  const key = join(a.directory, '..', 'other-key')
  await writeFile(key, randomBytes(32).toString('base64'), { mode: 0o600 })
  const { lastSeq } = a.host.lifecycle
  await assert.rejects(
    stage.start('b', { settings: { secretKeyFile: key } }),
    /^StartError: The hosts of the fleet test have the key [0-9a-f]{8}, but HOST_SECRET_KEY_FILE .* holds [0-9a-f]{8}: copy the key file of another host/,
  )
  assert.equal(a.host.lifecycle.lastSeq, lastSeq)
  await (await stage.start('b')).host.close()

  // Nothing was encrypted with that key: when it is taken away, the key is that of the next host.
  await a.host.close()
  // As `nats kv del` does.
  await jetstream(await connectTo(t, stage.nats.url)).publish(sharedKeySubject('test'), '')
  await (await stage.start('b', { settings: { secretKeyFile: key } })).host.close()
  await assert.rejects(stage.start('a'), /^StartError: The hosts of the fleet test have the key/)
})

test('a host with another key that comes first to a fleet of an older version does not lock the others out', async (t) => {
  const stage = await startFleetStage(t, standardFixtures)
  const a = await stage.start('a')
  await install(a, '@fixtures/hello')
  await a.request('POST', '/api/plugins/hello/config', { body: { config: { apiKey: 'canary' } } })
  await a.host.close()
  const secretKeyFile = join(a.directory, '..', 'other-key')
  await writeFile(secretKeyFile, randomBytes(32).toString('base64'), { mode: 0o600 })
  const { streams } = await jetstreamManager(await connectTo(t, stage.nats.url))
  await streams.purge(valuesStreamName('test'), { filter: sharedKeySubject('test') })
  await assert.rejects(
    stage.start('b', { settings: { secretKeyFile } }),
    /^StartError: .*HOST_SECRET_KEY_FILE/,
  )
  await (await stage.start('a')).host.close()
})

test('the directory of a host of a fleet does not run alone, where its plugins would run twice', async (t) => {
  const { stage, a } = await stageWithDemo(t)
  await a.host.close()
  const alone = { settings: { fleet: undefined } }
  await assert.rejects(stage.start('a', alone), /is of a host of a fleet, a, .*HOST_FLEET_URL.*fleet leave/)
})

test('a directory of a host that has run alone is told how it joins a fleet', async (t) => {
  const stage = await startFleetStage(t, standardFixtures)
  const alone = await stage.start('a', { settings: { fleet: undefined }, directory: 'alone' })
  await install(alone, '@fixtures/demo')
  await alone.host.close()
  const b = await stage.start('b')
  await install(b, '@fixtures/hello')
  await assert.rejects(stage.start('a', { directory: 'alone' }), /taken in by "lupine fleet join"/)
})

test('a host that is started safely takes no plugin, also none that it had, until its drain is ended', async (t) => {
  const { stage, a } = await stageWithDemo(t)
  await a.host.close()
  const logger = createRecordingLogger()
  const safe = await stage.start('a', { logger, settings: { safeMode: true } })
  const { error, state } = await untilPlugin(
    safe,
    '@fixtures/demo',
    'to be without a host',
    (plugin) => plugin.error?.code === 'no_host',
  )
  assert.deepEqual([state, error?.code], ['unloaded', 'no_host'])
  const loads = (await safe.request('GET', '/api/history?limit=1000')).body.events.filter(
    ({ type }: { type: string }) => type === 'PluginLoaded',
  )
  assert.equal(loads.length, 1, 'it was loaded before alone')
  assert.ok(logger.lines.some(({ message }) => message.startsWith('Safe mode: this host takes no plugin')))
  const { hosts } = (await safe.request('GET', '/api/hosts')).body
  assert.deepEqual([hosts[0].id, hosts[0].draining], ['a', true])
  await safe.request('DELETE', '/api/hosts/a/drain')
  await untilPlugin(safe, '@fixtures/demo', 'to run', (plugin) => plugin.state === 'running')
})

test('a drain that a safe start finds begun, by its own first try or a run before, is not begun once more', async (t) => {
  const { stage, a } = await stageWithDemo(t)
  await a.host.close()
  const before = await stage.start('a', { settings: { safeMode: true } })
  await before.host.close()
  const safe = await stage.start('a', { settings: { safeMode: true } })
  const { hosts } = (await safe.request('GET', '/api/hosts')).body
  assert.deepEqual([hosts[0].id, hosts[0].draining], ['a', true])
  const drains = (await safe.request('GET', '/api/history?limit=1000')).body.events.filter(
    ({ type }: { type: string }) => type === 'HostDrainRequested',
  )
  assert.equal(drains.length, 1)
})

test('a host whose last three runs did not last takes no plugin, and says why', async (t) => {
  const { stage, a } = await stageWithDemo(t)
  await a.host.close()
  await writeFile(join(a.directory, shortRunsFile), '{"short":3}')
  const logger = createRecordingLogger()
  const safe = await stage.start('a', { logger })
  await untilPlugin(safe, '@fixtures/demo', 'to be without a host', ({ error }) => error?.code === 'no_host')
  const { events } = (await safe.request('GET', '/api/history?limit=1000')).body
  const { data, by } = events.find(({ type }: { type: string }) => type === 'HostDrainRequested')
  assert.deepEqual([data, by], [{ host: 'a' }, 'supervisor'])
  const [told] = logger.lines.filter(({ message }) => message.startsWith('Safe mode: this host takes no'))
  assert.equal(told?.fields?.shortRuns, 3)
  await safe.request('DELETE', '/api/hosts/a/drain')
  await untilPlugin(safe, '@fixtures/demo', 'to run', ({ state }) => state === 'running')
  await safe.host.close()
  // It ended in order.
  assert.equal(await readFile(join(a.directory, shortRunsFile), 'utf8'), '{"short":0}')
})

test('a host that was closed leaves its plugins to the others, and comes back to the fleet', async (t) => {
  const { stage, a } = await stageWithDemo(t)
  const b = await stage.start('b')
  await a.host.close()
  await untilPlugin(
    b,
    '@fixtures/demo',
    'to run on b',
    ({ host, state }) => host === 'b' && state === 'running',
  )
  const again = await stage.start('a')
  const { hosts } = (await again.request('GET', '/api/hosts')).body
  assert.deepEqual(
    hosts.map(({ id }: { id: string }) => id),
    ['a', 'b'],
  )
  const { plugins } = (await again.request('GET', '/api/plugins')).body
  assert.deepEqual([plugins[0].state, plugins[0].host], ['running', 'b'])
})

test('while the store is away a host shows what it knew, changes nothing, and its plugins come back by themselves', async (t) => {
  const { stage, a } = await stageWithDemo(t)
  await stage.nats.stop()
  const lost = await untilPlugin(a, '@fixtures/demo', 'to be unloaded', ({ state }) => state === 'unloaded')
  assert.equal(lost.error?.code, 'lease_lost')
  // Nothing is wrong with the broker, which the host has left.
  const { status: health, body } = await a.request('GET', '/readyz')
  assert.equal(health, 503)
  assert.match(body.reasons.join('; '), /^the fleet's store has taken no sign of life of this host [^;]*$/)
  const refused = await a.request('POST', '/api/plugins/demo/toggle', { body: { enabled: false } })
  assert.deepEqual([refused.status, refused.body.code], [503, 'fleet_unreachable'])
  assert.ok(Number(refused.headers.get('retry-after')) > 0)
  // Nobody knows now whether there is such a host.
  for (const id of ['a', 'b'])
    for (const method of ['POST', 'DELETE']) {
      const { status, body } = await a.request(method, `/api/hosts/${id}/drain`)
      assert.deepEqual([status, body.code], [503, 'fleet_unreachable'], `${method} ${id}`)
    }
  await stage.nats.start()
  const back = await untilPlugin(a, '@fixtures/demo', 'to run again', ({ state }) => state === 'running')
  assert.deepEqual([back.host, back.error], ['a', null])
})

test('a command for a plugin of another host ends when it is known that the store is away, and goes on after a short break', async (t) => {
  const { stage, a } = await stageWithDemo(t)
  const b = await stage.start('b')
  const set = (level: number): Promise<{ status: number; body: { code?: string } }> =>
    b.request('PUT', '/api/plugins/demo/controls/level', { body: { value: level } })
  await stage.nats.stop()
  const survived = set(3)
  await stage.nats.start()
  assert.equal((await survived).status, 200)
  const { sensors } = (await a.request('GET', '/api/plugins/demo/sensors')).body
  assert.deepEqual(
    sensors.map(({ value }: { value: number }) => value),
    [6],
  )
  await stage.nats.stop()
  let isAnswered = false
  const waited = set(4).finally(() => (isAnswered = true))
  await until('the host to know', async () => (await b.request('GET', '/readyz')).status === 503)
  await until('the command to be answered', async () => isAnswered, 20_000)
  for (const { status, body } of [await waited, await set(5)])
    assert.deepEqual([status, body.code], [503, 'fleet_unreachable'])
  await stage.nats.start()
  await untilPlugin(b, '@fixtures/demo', 'to run again', ({ state }) => state === 'running')
})
