import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import type { Plugin } from '../../../src/schema/plugin/plugin.ts'
import { createRecordingLogger } from '../../bus/bus-fixture.ts'
import { standardFixtures } from '../../helpers/fixture-repository.ts'
import { listen } from '../../helpers/listen.ts'
import { until } from '../../helpers/until.ts'
import { install, startFleetStage, untilPlugin } from './fleet-stage.ts'

const demo = '@fixtures/demo'
const hello = '@fixtures/hello'
const path = (id: string, rest = ''): string => `/api/plugins/${encodeURIComponent(id)}${rest}`

test('a host that is started while the store is away shows what it last knew, changes nothing, and starts when the store is there', async (t) => {
  const stage = await startFleetStage(t, standardFixtures)
  const a = await stage.start('a')
  const b = await stage.start('b')
  for (const [id, host] of [
    [demo, 'a'],
    [hello, 'b'],
  ] as const) {
    await install(a, id)
    await a.request('PUT', path(id, '/placement'), { body: { host } })
  }
  await a.request('POST', path(hello, '/config'), { body: { config: { apiKey: 'canary' } } })
  for (const [id, host] of [
    [demo, 'a'],
    [hello, 'b'],
  ] as const)
    await untilPlugin(
      b,
      id,
      `to run on ${host}`,
      (plugin) => plugin.host === host && plugin.state === 'running',
    )
  const before = (await b.request('GET', '/api/history?limit=1000')).body
  await stage.nats.stop()
  await b.host.close()

  const logger = createRecordingLogger()
  const starting = stage.start('b', { logger })
  t.after(() => starting.catch(() => undefined))
  const url = await until('the host to answer questions', async () => {
    const line = logger.lines.find(({ message }) => message.startsWith('Questions are answered meanwhile'))
    return line?.fields?.http as string | undefined
  })
  const ask = async (method: string, path: string, body?: object): Promise<{ status: number; body: any }> => {
    const answer = await fetch(url + path, {
      method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    })
    return { status: answer.status, body: await answer.json() }
  }
  const { plugins } = (await ask('GET', '/api/plugins')).body as { plugins: Plugin[] }
  assert.deepEqual(
    plugins.map(({ id, state, host, stale, error }) => [id, state, host, stale, error?.code]),
    [
      [demo, 'running', 'a', true, undefined],
      [hello, 'unloaded', null, true, 'lease_lost'],
    ],
  )
  assert.deepEqual(plugins[1]?.config.apiKey, '********')
  const known = (await ask('GET', '/api/history?limit=1000')).body
  assert.deepEqual(known.events.slice(0, before.events.length), before.events)
  assert.deepEqual(await ask('GET', '/api/hosts'), { status: 200, body: { hosts: [] } })
  assert.equal((await fetch(`${url}/livez`)).status, 200)
  const readiness = await ask('GET', '/readyz')
  assert.equal(readiness.status, 503)
  assert.match(readiness.body.reasons[0], /^the start waits\. The fleet's store at /)
  for (const [method, where, body] of [
    ['POST', path(demo, '/toggle'), { enabled: false }],
    ['POST', path(hello, '/config'), { config: { apiKey: 'other' } }],
    ['POST', '/api/plugins/install', { fullId: '@fixtures/counter' }],
    ['DELETE', path(demo), undefined],
    ['POST', '/api/hosts/a/drain', {}],
  ] as const) {
    const refused = await ask(method, where, body)
    assert.deepEqual([refused.status, refused.body.code], [503, 'fleet_unreachable'], where)
  }

  await stage.nats.start()
  const again = await starting
  assert.equal(again.url, url)
  for (const id of [demo, hello])
    await untilPlugin(again, id, 'to run', ({ state, stale }) => state === 'running' && stale === undefined)
  const after = (await again.request('GET', '/api/history?limit=1000')).body
  assert.deepEqual(after.events.slice(0, known.events.length), known.events)
})

test('a host that has never been in the fleet waits for the store with nothing to show', async (t) => {
  const stage = await startFleetStage(t, standardFixtures)
  await stage.nats.stop()
  const logger = createRecordingLogger()
  const starting = stage.start('a', { logger })
  const url = await until('the host to answer questions', async () => {
    const line = logger.lines.find(({ message }) => message.startsWith('Questions are answered meanwhile'))
    return line?.fields?.http as string | undefined
  })
  assert.deepEqual(await (await fetch(`${url}/api/plugins`)).json(), { plugins: [] })
  await stage.nats.start()
  const { host } = await starting
  assert.equal(host.id, 'a')
})

test('an address that is taken ends the start, whether the store is there or not', async (t) => {
  const other = createServer()
  const port = await listen(other)
  t.after(() => other.close())
  const stage = await startFleetStage(t, standardFixtures)
  await stage.nats.stop()
  await assert.rejects(stage.start('a', { settings: { httpPort: port } }), /^StartError: .*in use/)
})
