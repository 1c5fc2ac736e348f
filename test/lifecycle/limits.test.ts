import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { defaultPluginLimits, limitNames, shownLimits } from '../../src/schema/plugin/plugin-limits.ts'
import { installAndStart, logMessages, startHostFor, type TestHost } from '../helpers/test-host.ts'
import { until } from '../helpers/until.ts'

const path = '/api/plugins/@fixtures/greedy'

const greedy = {
  id: 'greedy',
  lua: `local plugin = Plugin:new("greedy")
    local made = 0
    plugin:onInit(function()
      pcall(function() for i = 1, 50 do plugin:setTimeout(1e9, print) made = i end end)
      pcall(function() for i = 1, 50 do plugin:setTimeout(1e9, print) end end)
      plugin:log("info", "made " .. made)
    end)`,
}

async function enabled(host: TestHost): Promise<void> {
  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/greedy' } })
  await host.request('POST', `${path}/toggle`, { body: { enabled: true } })
}

/** The plugin, once `wanted` holds. */
function whenIt(host: TestHost, wanted: (plugin: any) => boolean): Promise<any> {
  return until('the plugin', async () => {
    const { body } = await host.request('GET', path)
    return wanted(body) && body
  })
}

async function eventsOf(host: TestHost, type: string): Promise<any[]> {
  const { body } = await host.request('GET', `${path}/history`)
  return body.events.filter((event: { type: string }) => event.type === type)
}

test('an owner sets the limits of a plugin; they are enforced, stored, shown, and taken back', async (t) => {
  const host = await startHostFor(t, { plugins: [greedy] })
  await enabled(host)
  const before = await host.request('GET', path)
  const notOwn = ['memory']
  assert.deepEqual(before.body.limits, { effective: shownLimits(defaultPluginLimits), notOwn, set: {} })
  assert.equal(before.body.resources.timers, 100)
  assert.deepEqual(before.body.limitsReached, [])

  const limited = await host.request('PUT', `${path}/limits`, {
    body: { limits: { timers: 20, memory: null } },
  })
  assert.equal(limited.status, 200)
  assert.equal(limited.body.state, 'running')
  assert.equal(limited.body.resources.timers, 20)
  assert.deepEqual(limited.body.limits, {
    effective: { ...shownLimits(defaultPluginLimits), timers: 20 },
    notOwn,
    set: { timers: 20 },
  })
  const told = await whenIt(host, ({ limitsReached }) => limitsReached.length > 0)
  // Nothing of how the journal keeps it.
  const [{ at }] = told.limitsReached
  assert.equal(new Date(at).toISOString(), at)
  assert.deepEqual(told.limitsReached, [{ limit: 'timers', value: 20, at }])
  const reached = (await logMessages(host, '@fixtures/greedy')).filter(
    (message) => message === 'limit reached: timers is 20',
  )
  assert.equal(reached.length, 1)
  assert.deepEqual(
    (await eventsOf(host, 'PluginLimitReached')).map(({ data }) => data),
    [{ limit: 'timers', value: 20, keepsRevision: true }],
  )
  const metrics = await host.request('GET', '/metrics')
  assert.match(metrics.body, /lupine_plugin_limit\{plugin="@fixtures\/greedy",limit="timers"\} 20/)
  assert.match(
    metrics.body,
    /lupine_plugin_limits_reached_total\{plugin="@fixtures\/greedy",limit="timers"\} 1/,
  )
  const file = JSON.parse(await readFile(join(host.directory, '.host.json'), 'utf8'))
  assert.deepEqual(file.plugins.installed[0].limits, { timers: 20 })

  const same = await host.request('PUT', `${path}/limits`, { body: { limits: { timers: 20 } } })
  assert.equal((await eventsOf(host, 'PluginLimitsChanged')).length, 1, 'nothing has changed')
  assert.equal(same.status, 200)
  const free = await host.request('PUT', `${path}/limits`, { body: { limits: {} } })
  assert.deepEqual([free.body.limits.set, free.body.limitsReached, free.body.resources.timers], [{}, [], 100])
})

test('a limit that a plugin meets leaves the revision as it is for whoever is about to change the plugin', async (t) => {
  const lua = greedy.lua.replace('plugin:onInit(', 'plugin:on("go", ')
  const host = await startHostFor(t, {
    plugins: [
      {
        ...greedy,
        lua: lua.replace('plugin:on(', 'plugin:setTimeout(600, function() plugin:emit("go") end) plugin:on('),
      },
    ],
  })
  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/greedy' } })
  await host.request('PUT', `${path}/limits`, { body: { limits: { timers: 20 } } })
  const seen = await host.request('POST', `${path}/toggle`, { body: { enabled: true } })
  await whenIt(host, ({ limitsReached }) => limitsReached.length > 0)
  const etag = seen.headers.get('etag')
  const saved = await host.request('POST', `${path}/config`, {
    body: { config: { name: 'kept' } },
    headers: { 'if-match': String(etag) },
  })
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  const stale = await host.request('POST', `${path}/config`, {
    body: { config: {} },
    headers: { 'if-match': String(etag) },
  })
  assert.deepEqual([stale.status, stale.body.code], [412, 'revision_conflict'])
  // Whoever has lost the revision on the way does not mean any.
  const empty = await host.request('POST', `${path}/config`, {
    body: { config: {} },
    headers: { 'if-match': '' },
  })
  assert.deepEqual([empty.status, empty.body.code], [400, 'body_invalid'])
})

test('limits out of bounds, and what is no limit, are refused with their places, and nothing changes', async (t) => {
  const host = await startHostFor(t, { plugins: [greedy] })
  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/greedy' } })
  const refused = await host.request('PUT', `${path}/limits`, {
    body: { limits: { timers: -1, memory: 1.5, 'a/b': 1, objects: '7', __proto__: 1, sensors: 5 } },
  })
  assert.equal(refused.status, 422)
  assert.equal(refused.body.code, 'limits_invalid')
  assert.deepEqual(refused.body.errors.map((error: { path: string }) => error.path).sort(), [
    '/limits/a~1b',
    '/limits/memory',
    '/limits/objects',
    '/limits/timers',
  ])
  assert.deepEqual((await host.request('GET', path)).body.limits.set, {})
  const none = await host.request('PUT', `${path}/limits`, { body: { limits: 5 } })
  assert.equal(none.status, 400)
  const missing = await host.request('PUT', '/api/plugins/@fixtures/nobody/limits', { body: { limits: {} } })
  assert.equal(missing.status, 404)
  const all = await host.request('GET', '/api/limits')
  assert.deepEqual(
    all.body.limits.map(({ name }: { name: string }) => name),
    limitNames,
  )
})

test('limits outlast a restart, an owner may write them by hand, and the settings hold for all others', async (t) => {
  const first = await startHostFor(t, { plugins: [greedy], settings: { pluginLimits: { timers: 40 } } })
  await enabled(first)
  const common = await first.request('GET', path)
  assert.deepEqual([common.body.limits.effective.timers, common.body.limits.set], [40, {}])
  assert.equal(common.body.resources.timers, 40)
  await first.request('PUT', `${path}/limits`, { body: { limits: { timers: 30 } } })
  await first.host.close()
  const name = join(first.directory, '.host.json')
  const file = JSON.parse(await readFile(name, 'utf8'))
  assert.deepEqual(file.plugins.installed[0].limits, { timers: 30 })
  file.plugins.installed[0].limits = { timers: 10 }
  await writeFile(name, JSON.stringify(file))
  const second = await first.restart()
  const { body } = await second.request('GET', path)
  assert.deepEqual([body.limits.set, body.resources.timers], [{ timers: 10 }, 10])
  assert.equal((await eventsOf(second, 'PluginLimitsChanged')).at(-1).by, 'file')
})

test('a plugin that grows slowly is seen to, and ended with the limit that it has met in its error', async (t) => {
  const leak = {
    id: 'greedy',
    lua: `local plugin = Plugin:new("greedy")
      local kept = {}
      plugin:onInit(function()
        plugin:setInterval(20, function() for i = 1, 4000 do kept[#kept + 1] = { #kept } end end)
      end)`,
  }
  const host = await startHostFor(t, { plugins: [leak], limits: { heartbeatInterval: 100 } })
  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/greedy' } })
  await host.request('PUT', `${path}/limits`, { body: { limits: { memory: 40 } } })
  await host.request('POST', `${path}/toggle`, { body: { enabled: true } })
  const seen: number[] = []
  const limits = new Set<number>()
  const plugin = await whenIt(host, ({ error }) => {
    void host.request('GET', '/api/system').then(({ body }) => {
      for (const { memory, memoryLimit } of body.isolates) {
        limits.add(memoryLimit)
        if (memory !== null && memory !== seen.at(-1)) seen.push(memory)
      }
    })
    return error !== null
  })
  assert.equal(plugin.error.code, 'out_of_memory')
  assert.match(plugin.error.message, /40 MB of memory \(limit memory\)/)
  assert.deepEqual(
    plugin.limitsReached.map(({ limit, value }: { limit: string; value: number }) => [limit, value]),
    [['memory', 40]],
  )
  assert.deepEqual([...limits], [40 * 1024 * 1024])
  // A busy machine tells of the first seconds late.
  assert.ok(Math.max(...seen) > 1.2 * Math.min(...seen), `it was seen to grow: ${seen.join(', ')}`)
  assert.ok(Math.max(...seen) < 80 * 1024 * 1024, 'and no more than it may')
})

test('in a shared worker limits hold for each plugin, and the answer names those that cannot; setting one of these gives a worker of its own', async (t) => {
  const other = { ...greedy, id: 'other', lua: greedy.lua.replace('"greedy"', '"other"') }
  const host = await startHostFor(t, { plugins: [greedy, other], settings: { isolation: 'shared' } })
  await enabled(host)
  await installAndStart(host, 'other')
  const limited = await host.request('PUT', `${path}/limits`, { body: { limits: { timers: 20 } } })
  assert.deepEqual([limited.body.resources.timers, limited.body.limits.notOwn], [20, ['memory']])
  const neighbour = await host.request('GET', '/api/plugins/other')
  assert.equal(neighbour.body.resources.timers, 100)
  const workers = async (): Promise<string[]> =>
    (await host.request('GET', '/api/system')).body.isolates
      .map(({ plugin, isolation }: { plugin: string; isolation: string }) => `${plugin} ${isolation}`)
      .sort()
  assert.deepEqual(await workers(), ['@fixtures/greedy shared', '@fixtures/other shared'])
  const own = await host.request('PUT', `${path}/limits`, { body: { limits: { timers: 20, memory: 64 } } })
  assert.deepEqual([own.body.resources.timers, own.body.limits.notOwn], [20, undefined])
  assert.deepEqual(await workers(), ['@fixtures/greedy dedicated', '@fixtures/other shared'])
})
