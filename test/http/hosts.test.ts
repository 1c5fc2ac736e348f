import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Problem } from '../../src/base/problem.ts'
import type { LifecycleFacade } from '../../src/lifecycle/facade.ts'
import type { Plugin } from '../../src/schema/plugin/plugin.ts'
import { createFakeFleet, fleetHostNamed } from '../helpers/fake-fleet.ts'
import { createFakeLifecycle, pluginNamed } from '../helpers/fake-lifecycle.ts'
import { startHttp } from './http-over.ts'

/** Hosts and placement over HTTP, in front of a fleet that is an object of the test. */

const lamp = '@home/lamp'

async function started(
  context: TestContext,
  { alone = false, token = undefined as string | undefined } = {},
) {
  const plugins = new Map([[lamp, { plugin: pluginNamed(lamp, { revision: 4 }) }]])
  const { lifecycle } = createFakeLifecycle(plugins)
  const hosts = [fleetHostNamed('attic', { labels: ['serial'] }), fleetHostNamed('cellar')]
  const { fleet, calls, facade, put } = createFakeFleet(lifecycle, hosts)
  put(lamp, { host: 'attic', epoch: 1 })
  const http = await startHttp(facade, { token, ...(alone ? {} : { fleet, fleetName: 'home' }) })
  context.after(() => http.close())
  async function ask(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const answer = await fetch(http.url + path, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: answer.status, headers: answer.headers, body: (await answer.json()) as any }
  }
  return { ask, calls, fleet }
}

test('every live host is told, with what it runs and has', async (context) => {
  const { ask } = await started(context)
  const { status, body } = await ask('GET', '/api/hosts')
  const hosts = [fleetHostNamed('attic', { labels: ['serial'], plugins: 1 }), fleetHostNamed('cellar')]
  assert.deepEqual([status, body], [200, { hosts }])
  assert.deepEqual((await ask('GET', '/api/system')).body.fleet, { name: 'home' })
})

test('a drain is answered with the host when it is empty, and ended by DELETE', async (context) => {
  const { ask, calls } = await started(context)
  const drained = await ask('POST', '/api/hosts/attic/drain')
  assert.deepEqual(
    [drained.status, drained.body],
    [200, fleetHostNamed('attic', { labels: ['serial'], draining: true })],
  )
  const refused = await ask('POST', '/api/hosts/cellar/drain')
  assert.deepEqual([refused.status, refused.body.code], [409, 'no_other_host'])
  const ended = await ask('DELETE', '/api/hosts/attic/drain')
  assert.deepEqual([ended.status, ended.body.draining], [200, false])
  assert.deepEqual(calls, [
    ['drain', 'attic', { by: 'http', requestKey: undefined }],
    ['drain', 'cellar', { by: 'http', requestKey: undefined }],
    ['endDrain', 'attic', { by: 'http' }],
  ])
})

test('a drain that is sent twice under one key acts once', async (context) => {
  const { ask, calls } = await started(context)
  const key = { 'idempotency-key': 'drain-1' }
  const answers = [
    await ask('POST', '/api/hosts/attic/drain', {}, key),
    await ask('POST', '/api/hosts/attic/drain', {}, key),
  ]
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200],
  )
  assert.equal(calls.length, 1)
})

test('a host that nobody knows is host_unknown, whatever its name looks like', async (context) => {
  const { ask } = await started(context)
  for (const name of ['shed', 'no%20name', 'x'.repeat(33), '__proto__', 'a.b'])
    for (const method of ['POST', 'DELETE']) {
      const { status, body } = await ask(method, `/api/hosts/${name}/drain`)
      assert.deepEqual([status, body.code], [404, 'host_unknown'], `${method} ${name}`)
    }
})

test('a placement reaches the fleet under its conditions', async (context) => {
  const { ask, calls } = await started(context)
  const path = '/api/plugins/@home/lamp/placement'
  const placement = { host: 'attic', labels: ['serial', 'cellar-2'] }
  const key = { 'idempotency-key': 'place-1' }
  const placed = await ask('PUT', path, placement, { ...key, 'if-match': '"4"' })
  assert.deepEqual(
    [placed.status, placed.headers.get('etag'), placed.body.id],
    [200, '"4"', lamp],
    JSON.stringify(placed.body),
  )
  await ask('PUT', path, placement, { ...key, 'if-match': '"4"' })
  await ask('PUT', '/api/plugins/lamp/placement', {})
  const [first = [], ...rest] = calls
  const { requestKey, ...conditions } = first[3] as { requestKey: string }
  assert.match(requestKey, /^[0-9a-f]{64}$/)
  assert.deepEqual(
    [first.slice(0, 3), conditions],
    [['place', lamp, placement], { by: 'http', expectedRevision: 4 }],
  )
  const unconditional = { by: 'http', expectedRevision: undefined, requestKey: undefined }
  assert.deepEqual(rest, [['place', lamp, {}, unconditional]])
})

test('a placement that is none is refused by name', async (context) => {
  const { ask, calls } = await started(context)
  const cases: [body: unknown, paths: string[]][] = [
    [{ host: '' }, ['/host']],
    [{ host: 'a b' }, ['/host']],
    [{ host: 7, label: 'x' }, ['/host', '/label']],
    [{ labels: 'serial' }, ['/labels']],
    [{ labels: ['serial', 'x'.repeat(33)] }, ['/labels/1']],
    [{ labels: Array.from({ length: 33 }, (_, at) => `l${at}`) }, ['/labels']],
    [{ labels: ['serial', 'serial'] }, ['/labels']],
  ]
  for (const [body, paths] of cases) {
    const answer = await ask('PUT', '/api/plugins/lamp/placement', body)
    const told = answer.body.errors?.map(({ path }: { path: string }) => path).sort()
    assert.deepEqual([answer.status, answer.body.code, told], [400, 'body_invalid', paths])
  }
  assert.deepEqual(calls, [])
})

test('a host that works by itself says so', async (context) => {
  const { ask } = await started(context, { alone: true })
  for (const [method, path, body] of [
    ['GET', '/api/hosts'],
    ['POST', '/api/hosts/attic/drain'],
    ['DELETE', '/api/hosts/attic/drain'],
    ['PUT', '/api/plugins/lamp/placement', {}],
  ] as const) {
    const answer = await ask(method, path, body)
    assert.deepEqual([answer.status, answer.body.code], [404, 'not_found'], path)
    assert.match(answer.body.detail, /^This host works by itself; /)
  }
  assert.equal((await ask('GET', '/api/system')).body.fleet, null)
})

test('hosts and placements are for whoever has the token', async (context) => {
  const { ask, calls } = await started(context, { token: 'a-token-of-some-length' })
  for (const [method, path] of [
    ['GET', '/api/hosts'],
    ['POST', '/api/hosts/attic/drain'],
    ['DELETE', '/api/hosts/attic/drain'],
    ['PUT', '/api/plugins/lamp/placement'],
  ] as const)
    assert.equal((await ask(method, path)).status, 401, path)
  const { status } = await ask('GET', '/api/hosts', undefined, {
    authorization: 'Bearer a-token-of-some-length',
  })
  assert.deepEqual([status, calls], [200, []])
})

test('while a plugin moves or the fleet is away, callers are told when to come again', async (context) => {
  const moving = new Problem('plugin_moving', 'It is moving.')
  const away = new Problem('fleet_unreachable', 'Nobody is there.', { retryAfter: 6 })
  const failing = (problem: Problem) => (): Promise<never> => Promise.reject(problem)
  const members: Partial<LifecycleFacade> = {
    get: failing(moving),
    sensors: failing(moving),
    toggle: failing(away),
  }
  const http = await startHttp(members)
  context.after(() => http.close())
  const told = async (path: string, method = 'GET') => {
    const answer = await fetch(`${http.url}/api/plugins/@home/lamp${path}`, { method })
    const { code } = (await answer.json()) as { code: string }
    return [answer.status, code, answer.headers.get('retry-after')]
  }
  assert.deepEqual(await told(''), [503, 'plugin_moving', '1'])
  assert.deepEqual(await told('/sensors'), [503, 'plugin_moving', '1'])
  assert.deepEqual(await told('/toggle', 'POST'), [503, 'fleet_unreachable', '6'])
})

test('answers that have to be fetched are the same as those that are there', async (context) => {
  const plugin: Plugin = pluginNamed(lamp)
  const point = { id: 'power', value: 3 }
  const known = {
    resolveId: () => lamp,
    list: () => [plugin],
    get: () => plugin,
    connections: () => [],
    logs: () => [{ at: '2024-01-01T00:00:00.000Z', level: 'info' as const, message: 'hello' }],
    objects: () => ({ room: { on: true } }),
    sensors: () => [point],
    controls: () => [point],
    exposures: () => [],
    hooks: () => [],
    checkConfig: () => ({ valid: true, errors: [], effective: {} }),
    machineState: () => ({ machine: 'plugin-lifecycle', state: 'running' as const, nextEvents: [] }),
  }
  const later = Object.fromEntries(
    Object.entries(known).map(([name, answer]) => [
      name,
      ['resolveId', 'machineState'].includes(name) ? answer : async () => answer(),
    ]),
  )
  const [there, elsewhere] = await Promise.all([startHttp(known), startHttp(later)])
  context.after(() => Promise.all([there.close(), elsewhere.close()]))
  const asked = ['', '/logs', '/objects', '/sensors', '/controls', '/exposures', '/hooks', '/machine']
  const paths = ['/api/plugins', '/api/plugins?q=nothing', ...asked.map((path) => `/api/plugins/lamp${path}`)]
  for (const path of paths) {
    const answers = await Promise.all([there, elsewhere].map(({ url }) => fetch(url + path)))
    const [one, other] = await Promise.all(
      answers.map(async (answer) => [answer.status, answer.headers.get('etag'), await answer.json()]),
    )
    assert.equal(one?.[0], 200, path)
    assert.deepEqual(other, one, path)
  }
  const body = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"config":{}}' }
  const check = await fetch(`${elsewhere.url}/api/plugins/lamp/config/check`, body)
  assert.deepEqual(await check.json(), known.checkConfig())
  assert.match(
    await (await fetch(`${elsewhere.url}/metrics`)).text(),
    /lupine_plugins\{state="running"\} 1\n/,
  )
  const system = (await (await fetch(`${elsewhere.url}/api/system`)).json()) as { plugins: unknown }
  assert.deepEqual(system.plugins, { running: 1 })
})
