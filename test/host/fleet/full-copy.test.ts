import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { jetstreamManager } from '@nats-io/jetstream'
import { journalFileName } from '../../../src/journal/segments/segment.ts'
import { failingFileSystem } from '../../helpers/failing-file-system.ts'
import { standardFixtures } from '../../helpers/fixture-repository.ts'
import { connectTo } from '../../helpers/nats-server.ts'
import type { TestHost } from '../../helpers/test-host.ts'
import { until } from '../../helpers/until.ts'
import { install, startFleetStage, untilPlugin } from './fleet-stage.ts'

/** A host with plugins whose disk takes no copy of the journal: what is asked for is in the store, and unknown here. */

const hello = '/api/plugins/hello'

async function typesIn(host: TestHost): Promise<string[]> {
  const { events } = (await host.request('GET', '/api/history?limit=1000')).body
  return events.map(({ type }: { type: string }) => type)
}

/** The plugin says in its log which name it was started with. */
async function configureOnFullDisk(context: TestContext) {
  let isFull = false
  const files = failingFileSystem(
    (operation, path) => isFull && operation === 'write' && path.endsWith(journalFileName),
  )
  const stage = await startFleetStage(context, standardFixtures)
  const a = await stage.start('a')
  const b = await stage.start('b', { files })
  await install(a, '@fixtures/hello')
  await a.request('PUT', `${hello}/placement`, { body: { host: 'b' } })
  await untilPlugin(b, '@fixtures/hello', 'on b', ({ host, state }) => host === 'b' && state === 'running')
  // The lease tells of it before the fact does, which is to be in the copy, too.
  await until('b to know of the move', async () =>
    (await typesIn(b)).join().endsWith('PluginPlaced,PluginMoved'),
  )
  const configure = async (host: TestHost): Promise<number> => {
    const headers = { 'idempotency-key': 'moon' }
    const { status } = await host.request('POST', `${hello}/config`, {
      body: { config: { name: 'moon' } },
      headers,
    })
    return status
  }
  const hasIt = async (): Promise<boolean> =>
    JSON.stringify((await b.request('GET', `${hello}/logs`)).body).includes('hello moon')
  isFull = true
  assert.equal(await configure(b), 507)
  const { body } = await b.request('GET', '/readyz')
  assert.match(String(body.reasons), /^the journal cannot be written: The disk of the data directory is full/)
  return { a, b, configure, hasIt, makeRoom: () => void (isFull = false) }
}

test('settings that the store has taken while the disk of the host of the plugin was full reach it by themselves when there is room', async (t) => {
  const { a, configure, hasIt, makeRoom } = await configureOnFullDisk(t)
  await until('the other host to know', async () => (await typesIn(a)).includes('PluginConfigured'))
  assert.equal(await configure(a), 507)
  makeRoom()
  await until('the plugin with its new settings', hasIt)
  await untilPlugin(a, '@fixtures/hello', 'to run', ({ state }) => state === 'running')
  const types = await typesIn(a)
  const ofType = (type: string) => types.filter((one) => one === type).length
  assert.deepEqual([ofType('PluginConfigured'), ofType('PluginUnloadRequested')], [1, 1])
})

for (const asked of ['a', 'b'] as const)
  test(`who asks once more is answered when the plugin has its new settings, asked of ${asked}`, async (t) => {
    const { a, b, configure, hasIt, makeRoom } = await configureOnFullDisk(t)
    makeRoom()
    await untilPlugin(b, '@fixtures/hello', 'to be known', ({ config }) => config.name === 'moon')
    await until('the other host to know', async () => (await typesIn(a)).includes('PluginConfigured'))
    assert.equal(await configure({ a, b }[asked]), 200)
    assert.equal(await hasIt(), true)
    assert.equal((await b.request('GET', '/readyz')).status, 200)
  })

test('a command for a plugin that a host does not know, whose disk is full, is told that this may be why', async (t) => {
  const { b } = await configureOnFullDisk(t)
  const { status, body } = await b.request('POST', '/api/plugins/none/toggle', { body: { enabled: true } })
  assert.deepEqual([status, body.code], [503, 'fleet_unreachable'])
  assert.match(
    body.detail,
    /^This host cannot take in now what others have done, .* or its own disk is full, /,
  )
})

for (const [how, move] of [
  ['is placed on another', (a: TestHost) => a.request('PUT', `${hello}/placement`, { body: { host: 'a' } })],
  [
    'is on a host that is drained',
    async (a: TestHost) => {
      await a.request('PUT', `${hello}/placement`, { body: {} })
      return a.request('POST', '/api/hosts/b/drain')
    },
  ],
] as const)
  test(`a plugin that ${how} leaves a host whose disk is full`, async (t) => {
    const { a } = await configureOnFullDisk(t)
    const { status, body } = await move(a)
    assert.equal(status, 200, body.detail)
    await untilPlugin(a, '@fixtures/hello', 'on a', ({ host, state }) => host === 'a' && state === 'running')
  })

test('plugins of a host that ends go to no host whose disk is full, while there is another', async (t) => {
  let isFull = false
  const files = failingFileSystem(
    (operation, path) => isFull && operation === 'write' && path.endsWith(journalFileName),
  )
  const stage = await startFleetStage(t, standardFixtures)
  const a = await stage.start('a')
  const b = await stage.start('b', { files })
  const c = await stage.start('c')
  for (const plugin of ['@fixtures/demo', '@fixtures/hello']) await install(a, plugin)
  for (const path of ['/api/plugins/demo', hello])
    await a.request('PUT', `${path}/placement`, { body: { host: 'a' } })
  await untilPlugin(b, '@fixtures/hello', 'on a', ({ host, state }) => host === 'a' && state === 'running')
  await until('b to know of it', async () => (await typesIn(b)).includes('PluginPlaced'))
  isFull = true
  for (const path of ['/api/plugins/demo', hello]) await a.request('PUT', `${path}/placement`, { body: {} })
  const { streams } = await jetstreamManager(await connectTo(t, stage.nats.url))
  await until('b to say that its disk is full', async () => {
    const record = await streams.getMessage('KV_LUPINE_test_HOSTS', {
      last_by_subj: '$KV.LUPINE_test_HOSTS.b',
    })
    return record?.json<{ isFull?: boolean }>().isFull
  })
  await a.host.close()
  for (const plugin of ['@fixtures/demo', '@fixtures/hello'])
    await untilPlugin(c, plugin, 'on c', ({ host, state }) => host === 'c' && state === 'running')
})

test('a plugin that falls to a host which only then finds its disk full goes on to another', async (t) => {
  let isFull = false
  const files = failingFileSystem(
    (operation, path) => isFull && operation === 'write' && path.endsWith(journalFileName),
  )
  const stage = await startFleetStage(t, standardFixtures)
  const a = await stage.start('a')
  await install(a, '@fixtures/hello')
  const b = await stage.start('b', { files })
  const c = await stage.start('c')
  await a.request('POST', '/api/hosts/c/drain')
  await until('b to know of all', async () => (await typesIn(b)).join() === (await typesIn(a)).join())
  // Nothing has told b of its disk so far, and of the hosts that are left it alone may have the plugin.
  isFull = true
  await a.host.close()
  await untilPlugin(c, '@fixtures/hello', 'on b', ({ host }) => host === 'b')
  assert.equal((await c.request('DELETE', '/api/hosts/c/drain')).status, 200)
  await untilPlugin(c, '@fixtures/hello', 'on c', ({ host, state }) => host === 'c' && state === 'running')
})
