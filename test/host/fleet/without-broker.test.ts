import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/time/clock.ts'
import type { Plugin } from '../../../src/schema/plugin/plugin.ts'
import { connect, createRecordingLogger } from '../../bus/bus-fixture.ts'
import { createTcpProxy } from '../../helpers/tcp-proxy.ts'
import { until } from '../../helpers/until.ts'
import { standardFixtures } from '../../helpers/fixture-repository.ts'
import { install, startFleetStage, untilPlugin } from './fleet-stage.ts'

/** A host that has the store and not the broker, which another host has. */

const id = '@fixtures/demo'
const path = `/api/plugins/${encodeURIComponent(id)}`

test('a plugin leaves a host that cannot reach the broker, and none is given to it, while another host has the broker', async (t) => {
  const stage = await startFleetStage(t, standardFixtures)
  const way = await createTcpProxy(t, stage.broker)
  const logger = createRecordingLogger()
  const a = await stage.start('a', { logger, settings: { mqttUrl: `mqtt://127.0.0.1:${way.port}` } })
  await install(a, id)
  await untilPlugin(a, id, 'to run on a', ({ host, state }) => host === 'a' && state === 'running')
  const b = await stage.start('b')
  way.refuse()
  const isTold = (message: string): boolean => logger.lines.some((line) => line.message.includes(message))
  await until('the broker to be missed', async () => isTold('The MQTT broker is gone'))
  assert.equal((await b.request('PUT', `${path}/placement`, { body: { host: 'b' } })).status, 200)
  await untilPlugin(b, id, 'to run on b', ({ host, state }) => host === 'b' && state === 'running')
  assert.ok(isTold('waits for the MQTT broker'))
  assert.ok(isTold('A plugin goes to a host that has the MQTT broker'))
  // a would be the one with fewest plugins.
  assert.equal((await b.request('PUT', `${path}/placement`, { body: {} })).status, 200)
  assert.equal((await install(b, '@fixtures/hello')).host, 'b')
})

test('a plugin leaves a host that cannot reach the broker, and what else that has goes on there, also what no other host may run', async (t) => {
  const stage = await startFleetStage(t, standardFixtures)
  const way = await createTcpProxy(t, stage.broker)
  const a = await stage.start('a', { settings: { mqttUrl: `mqtt://127.0.0.1:${way.port}` } })
  for (const plugin of [id, '@fixtures/hello']) await install(a, plugin)
  const b = await stage.start('b')
  assert.equal((await a.request('PUT', '/api/plugins/hello/placement', { body: { host: 'a' } })).status, 200)
  const { epoch } = await untilPlugin(a, '@fixtures/hello', 'to run', ({ state }) => state === 'running')
  const client = await connect(t, stage.broker)
  const statuses: string[] = []
  client.on('message', (_topic, payload) => void statuses.push(payload.toString()))
  await client.subscribeAsync('host/hosts/a/status')
  await until('a to be online', async () => statuses.at(-1) === 'online')
  way.refuse()
  assert.equal((await b.request('PUT', `${path}/placement`, { body: { host: 'b' } })).status, 200)
  await untilPlugin(b, id, 'to run on b', ({ host, state }) => host === 'b' && state === 'running')
  await until('a to be offline', async () => statuses.at(-1) === 'offline')
  way.pass()
  await until('a to be online again', async () => statuses.at(-1) === 'online')
  const stays = (await b.request('GET', '/api/plugins/hello')).body
  assert.deepEqual([stays.host, stays.state, stays.epoch], ['a', 'running', epoch])
  const { events } = (await b.request('GET', '/api/history?limit=1000')).body
  const moves = events.filter(({ type }: { type: string }) => type === 'PluginMoved')
  assert.equal(moves.filter(({ plugin }: { plugin: string }) => plugin === '@fixtures/hello').length, 1)
})

test('a plugin that cannot leave a host as no host has the broker is told so', async (t) => {
  const stage = await startFleetStage(t, standardFixtures)
  const way = await createTcpProxy(t, stage.broker)
  const settings = { mqttUrl: `mqtt://127.0.0.1:${way.port}` }
  const a = await stage.start('a', { settings })
  for (const plugin of [id, '@fixtures/hello']) await install(a, plugin)
  const b = await stage.start('b', { settings })
  assert.equal((await a.request('PUT', '/api/plugins/hello/placement', { body: { host: 'a' } })).status, 200)
  way.refuse()
  assert.equal((await b.request('PUT', `${path}/placement`, { body: { host: 'b' } })).status, 200)
  const waits = /^It is to leave the host a, which cannot reach the MQTT broker; .* stop that host/
  await untilPlugin(
    b,
    id,
    'to wait',
    ({ host, state, error }) => host === 'a' && state === 'unloaded' && waits.test(error?.message ?? ''),
  )
  await until('the list to show it', async () => {
    const { body } = await b.request('GET', '/api/plugins')
    const shown = (body as { plugins: Plugin[] }).plugins.map(({ id: plugin, state }) => `${plugin} ${state}`)
    return shown.join() === `${id} unloaded,@fixtures/hello running`
  })
  const refused = await b.request('POST', `${path}/config`, { body: { config: {} } })
  assert.deepEqual([refused.status, refused.body.code], [503, 'plugin_moving'])
  assert.match(refused.body.detail, /^Nothing was changed\. It is to leave the host a/)
  way.pass()
  await untilPlugin(b, id, 'to run on b', ({ host, state }) => host === 'b' && state === 'running')
})

test('where the host that answers for the fleet has long had no broker, another one answers', async (t) => {
  const stage = await startFleetStage(t, standardFixtures)
  const way = await createTcpProxy(t, stage.broker)
  const logger = createRecordingLogger()
  let ahead = 0
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + ahead }
  const settings = { mqttUrl: `mqtt://127.0.0.1:${way.port}` }
  const a = await stage.start('a', { logger, clock, settings })
  await install(a, id)
  await stage.start('b')
  const client = await connect(t, stage.broker)
  const answered = new Set<string>()
  client.on('message', (_topic, payload) => void answered.add(JSON.parse(payload.toString()).transaction))
  await client.subscribeAsync('host/response/list')
  let count = 0
  const answers = async (): Promise<boolean> => {
    count += 1
    await client.publishAsync('host/request/list', JSON.stringify({ transaction: String(count) }))
    return answered.size > 0
  }
  await until('an answer', answers)
  way.refuse()
  const isTold = (message: string): boolean => logger.lines.some((line) => line.message.includes(message))
  await until('the broker to be missed', async () => isTold('The MQTT broker is gone'))
  answered.clear()
  await until('an answer of another host', async () => {
    ahead += 1_000
    return answers()
  })
  assert.ok(!isTold('The session of this host is over'))
})
