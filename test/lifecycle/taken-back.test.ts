import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { silentLogger } from '../../src/base/log/log.ts'
import { defaultRestartPolicy } from '../../src/lifecycle/loading/restart-policy.ts'
import { startStrictBroker } from '../bus/strict-broker.ts'
import { listen } from '../helpers/listen.ts'
import { command, logMessages, nextFact, startHostFor } from '../helpers/test-host.ts'
import { until } from '../helpers/until.ts'

/** Each makes one thing of its kind, and answers what takes it back; of each kind it may have two. */
const tidy = {
  id: 'tidy',
  lua: `
    local plugin = Plugin:new("tidy")
    local function value() return 1 end
    local exposed = {}
    local kinds = {
      event = function(name) return plugin:on(name, print) end,
      topic = function(name)
        local stop
        stop = plugin:mqttSubscribe("tidy/" .. name, function()
          stop()
          unexpose(exposed.last)
        end)
        return stop
      end,
      handler = function(name) return plugin:httpHandler(name, print) end,
      watcher = function(name) return plugin:onSensor("@fixtures/other/" .. name, print) end,
      schedule = function(name)
        local id = assert(plugin:cron("0 0 1 1 *", print))
        return function() plugin:clearTimer(id) end
      end,
      object = function(name)
        plugin:upsertObject(name, { value = 1 })
        return function() plugin:removeObject(name) end
      end,
      sensor = function(name)
        plugin:sensor(name, value):notify()
        return function() plugin:removeSensor(name) end
      end,
      control = function(name)
        plugin:control(name, value, print)
        return function() plugin:removeControl(name) end
      end,
      exposure = function(name)
        exposed[name] = { get = value }
        expose(exposed[name], "sensor", { id = name, name = name })
        return function() unexpose(exposed[name]) end
      end,
    }
    plugin:onInit(function()
      for kind, make in pairs(kinds) do
        make("kept")
        for round = 1, 20 do
          local made, back = pcall(make, "gone-" .. round)
          if made then back() else print(kind, back) end
        end
        make("last")
      end
      -- When that comes back others have heard of all that is there by then.
      plugin:mqttPublish("tidy/last", "stop", { retain = true })
    end)
  `,
}

test('what a plugin takes back is gone for everybody, and makes room for as much again', async (t) => {
  const mistakes: string[] = []
  const broker = await startStrictBroker(t, () => true)
  const host = await startHostFor(t, {
    plugins: [tidy],
    settings: { mqttUrl: broker.url },
    logger: { ...silentLogger, error: (message) => mistakes.push(message) },
  })
  await command(host, 'install', { fullId: '@fixtures/tidy' })
  const limits = Object.fromEntries(
    [
      ...['eventSubscriptions', 'mqttSubscriptions', 'httpHandlers', 'watchers', 'schedules'],
      ...['objects', 'sensors', 'controls', 'exposures'],
    ].map((name) => [name, 2]),
  )
  assert.equal((await host.request('PUT', '/api/plugins/tidy/limits', { body: { limits } })).status, 200)
  await command(host, 'tidy/toggle')
  assert.deepEqual([await logMessages(host, 'tidy'), mistakes], [[], []])
  const names = async (what: string, of: (body: any) => unknown[]): Promise<unknown[]> =>
    of((await host.request('GET', `/api/plugins/tidy/${what}`)).body)
  const idsOf =
    (member: string, id: string) =>
    (body: any): unknown[] =>
      body[member].map((each: Record<string, unknown>) => each[id])
  assert.deepEqual(
    {
      objects: await names('objects', ({ objects }) => Object.keys(objects)),
      sensors: await names('sensors', idsOf('sensors', 'id')),
      controls: await names('controls', idsOf('controls', 'id')),
      hooks: await names('hooks', idsOf('hooks', 'path')),
    },
    Object.fromEntries(['objects', 'sensors', 'controls', 'hooks'].map((what) => [what, ['kept', 'last']])),
  )
  await until('the end of what others have heard of', async () => {
    const exposures = await names('exposures', idsOf('exposures', 'id'))
    return broker.unsubscribed.has('tidy/last') && exposures.length === 1 && exposures[0] === 'kept'
  })
  assert.ok(!broker.unsubscribed.has('tidy/kept'))
})

/** Has as much of each kind as it may, and hangs when it is told to. */
const hanging = (port: number) => ({
  id: 'hanging',
  lua: `
    local plugin = Plugin:new("hanging")
    plugin:onInit(function()
      for _, name in ipairs{ "a", "b" } do
        plugin:on(name, print)
        plugin:mqttSubscribe("hanging/" .. name, print)
        plugin:httpHandler(name, print)
        plugin:onSensor("@fixtures/other/" .. name, print)
        assert(plugin:cron("0 0 1 1 *", print))
        plugin:upsertObject(name, { value = 1 })
      end
      plugin:tcpConnect("127.0.0.1", ${port})
    end)
    plugin:control("hang", print, function()
      plugin:setTimeout(1, function() while true do end end)
    end)
  `,
})

test('what a plugin had that was ended by force is gone, and it has as much again when it is loaded anew', async (t) => {
  const server = createServer((socket) => socket.on('error', () => undefined))
  const port = await listen(server)
  t.after(() => server.close())
  const broker = await startStrictBroker(t, () => true)
  const host = await startHostFor(t, {
    plugins: [hanging(port)],
    settings: { mqttUrl: broker.url, isolation: 'dedicated' },
    restartPolicy: { ...defaultRestartPolicy, budget: 1 },
    limits: { callbackTime: 60_000, heartbeatInterval: 50, unresponsiveAfter: 500 },
  })
  await command(host, 'install', { fullId: '@fixtures/hanging' })
  const limits = { eventSubscriptions: 2, mqttSubscriptions: 2, httpHandlers: 2, watchers: 2, schedules: 2 }
  await host.request('PUT', '/api/plugins/hanging/limits', { body: { limits } })
  const connected = once(server, 'connection')
  await command(host, 'hanging/toggle')
  await connected
  const ended = nextFact(host, 'PluginCrashed')
  await host.request('PUT', '/api/plugins/hanging/controls/hang', { body: { value: 1 } })
  await ended
  const view = async (what: string): Promise<any> =>
    (await host.request('GET', `/api/plugins/hanging/${what}`)).body[what]
  assert.deepEqual([await view('objects'), await view('hooks')], [{}, []])
  const connections = promisify(server.getConnections.bind(server))
  await until('the end of its connection', async () => (await connections()) === 0)
  await until('the end of its subscriptions', () =>
    Promise.resolve(['a', 'b'].every((name) => broker.unsubscribed.has(`hanging/${name}`))),
  )
  const again = await command(host, 'hanging/reload')
  assert.deepEqual([again.state, again.error], ['running', null])
})
