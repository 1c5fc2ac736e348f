import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLogger } from '../../src/base/log/log.ts'
import { startStrictBroker } from '../bus/strict-broker.ts'
import { command, logMessages, startHostFor } from '../helpers/test-host.ts'
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
