import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { type LimitName, limitNames } from '../../src/schema/plugin/plugin-limits.ts'
import { listen } from '../helpers/listen.ts'
import { logMessages, startHostFor } from '../helpers/test-host.ts'
import { until } from '../helpers/until.ts'

/** Each limit is met by a plugin for which its owner has set it low, and told in all four ways. */

interface Case {
  /** What is set for the plugin. */
  value: number
  /** What runs a moment after the load. */
  lua: string
}

const loop = (body: string): string => `for i = 1, 1000 do ${body} end`

const cases: Record<LimitName, Case> = {
  memory: { value: 24, lua: 'local all = {} while true do all[#all + 1] = { {}, {}, {} } end' },
  stringBytes: { value: 100_000, lua: '("x"):rep(200000)' },
  callbackTime: { value: 100, lua: 'while true do end' },
  loadTime: { value: 500, lua: '' },
  operationsPerSecond: { value: 10, lua: 'for i = 1, 30000 do plugin:emit("e") end' },
  operationBurst: { value: 10, lua: 'for i = 1, 30000 do plugin:emit("e") end' },
  bytesPerSecond: { value: 1_024, lua: 'for i = 1, 100 do plugin:emit("e", ("x"):rep(200000)) end' },
  httpRequests: { value: 1, lua: 'for i = 1, 1002 do plugin:httpGet(plugin.config.url, function() end) end' },
  sockets: { value: 20, lua: loop('plugin:webSocket("ws://127.0.0.1:1/")') },
  serialPorts: { value: 5, lua: loop('plugin:serialPort("/dev/not-there")') },
  discoveries: { value: 5, lua: loop('plugin:discover("_http._tcp", print)') },
  keyValueBytes: { value: 2_000, lua: loop('plugin:kvSet("k" .. i, i)') },
  timers: { value: 20, lua: loop('plugin:setTimeout(1e9, print)') },
  pollers: { value: 20, lua: loop('plugin:poller("p", { interval = 1e9, onTick = print }):start()') },
  eventSubscriptions: { value: 20, lua: loop('plugin:on("e" .. i, print)') },
  mqttSubscriptions: { value: 20, lua: loop('plugin:mqttSubscribe("a/" .. i, print)') },
  httpHandlers: { value: 20, lua: loop('plugin:httpHandler("h" .. i, print)') },
  objects: { value: 20, lua: loop('plugin:upsertObject("o" .. i, { n = i })') },
  sensors: { value: 20, lua: loop('plugin:sensor("s" .. i, print)') },
  controls: { value: 20, lua: loop('plugin:control("c" .. i, print, print)') },
  exposures: {
    value: 20,
    lua: loop('expose({ get = function() return 1 end }, "sensor", { id = "x" .. i, name = "x" .. i })'),
  },
  schedules: { value: 20, lua: loop('plugin:cron("0 0 * * *", print)') },
  watchers: { value: 20, lua: loop('plugin:onSensor("@a/b/*", print)') },
  throttles: { value: 20, lua: loop('plugin:emit("e" .. i, i, { throttle = 1e9 })') },
}

const idOf = (limit: LimitName): string => limit.toLowerCase()

test('each limit that an owner may set is met, and told in the log, in an event, in the metrics and in the plugin', async (t) => {
  assert.deepEqual(Object.keys(cases), limitNames)
  const server = createServer((_request, response) => setTimeout(() => response.end('{}'), 200))
  const port = await listen(server)
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${port}/`
  const host = await startHostFor(t, {
    plugins: limitNames.map((limit) => ({
      id: idOf(limit),
      lua:
        limit === 'loadTime'
          ? 'local plugin = Plugin:new("loadtime") while true do end'
          : `local plugin = Plugin:new("${idOf(limit)}")
             plugin:setTimeout(10, function() ${cases[limit].lua} end)`,
    })),
    // Memory is to be what ends it, not the time that it takes on a busy machine.
    limits: { callbackTime: 120_000, unresponsiveAfter: 130_000 },
  })
  for (const limit of limitNames) {
    await t.test(limit, async () => {
      const { value } = cases[limit]
      const path = `/api/plugins/@fixtures/${idOf(limit)}`
      await host.request('POST', '/api/plugins/install', { body: { fullId: `@fixtures/${idOf(limit)}` } })
      await host.request('POST', `${path}/config`, { body: { config: { url } } })
      // A burst is only used up by whoever is slow to be allowed more, and is met by whoever has such a limit.
      const both = limit === 'operationsPerSecond' || limit === 'operationBurst'
      const set = { ...(both ? { operationsPerSecond: 10, operationBurst: 10 } : {}), [limit]: value }
      const limited = await host.request('PUT', `${path}/limits`, { body: { limits: set } })
      assert.deepEqual([limited.status, limited.body.limits.set], [200, set])
      await host.request('POST', `${path}/toggle`, { body: { enabled: true } })
      const expected = { limit, value }
      const reached = await until(limit, async () => {
        const { body } = await host.request('GET', path)
        const met = body.limitsReached as { limit: string; value: number }[]
        return met.find((one) => one.limit === limit)
      })
      assert.equal(reached.value, value)
      const history = (await host.request('GET', `${path}/history`)).body.events as {
        type: string
        data: typeof expected
      }[]
      const events = history.filter(({ type, data }) => type === 'PluginLimitReached' && data.limit === limit)
      assert.ok(events.length > 0)
      assert.deepEqual(events[0]?.data, { ...expected, keepsRevision: true })
      const messages = await logMessages(host, `@fixtures/${idOf(limit)}`, '?limit=5000')
      const line = new RegExp(`^limit reached: ${limit} is ${value}( (MB|bytes|ms|per second))?$`)
      assert.ok(
        messages.some((message) => line.test(message)),
        `no line in ${messages.join('\n')}`,
      )
      const metrics = await host.request('GET', '/metrics')
      const labels = `{plugin="@fixtures/${idOf(limit)}",limit="${limit}"}`
      assert.match(metrics.body, new RegExp(`lupine_plugin_limits_reached_total${labels} [1-9]`))
      assert.match(metrics.body, new RegExp(`lupine_plugin_limit${labels} ${value}\\b`))
      const off = await host.request('POST', `${path}/toggle`, { body: { enabled: false } })
      assert.equal(off.status, 200)
    })
  }
})
