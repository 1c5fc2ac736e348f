import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setTimeout as waitingMilliseconds } from 'node:timers/promises'
import { collectGarbage } from '../helpers/collect-garbage.ts'
import { type Attack, startStage } from './stage.ts'

/** Plugins that ask for more than anybody needs, as fast as they can. */

/** ms for which a flood is watched. */
const duration = 500

interface Flood extends Attack {
  title: string
  /** What the log says of it; several of these. */
  logged?: string[]
}

const slowed = 'warn the plugin is slowed down'
/** Whatever it does: again and again, without ever giving way by itself. */
const forever = (body: string): string => `plugin:setInterval(1, function() while true do ${body} end end)`

const floods: Flood[] = [
  { id: 'events', title: 'events', lua: forever('plugin:emit("flood", { n = 1 })'), logged: [slowed] },
  {
    id: 'retained-events',
    title: 'retained events, each of another name',
    lua: `local n = 0 ${forever('n = n + 1 plugin:emit("flood:" .. n, n, { retain = true })')}`,
    logged: [slowed],
  },
  {
    id: 'large-events',
    title: 'events that are as large as may be',
    lua: `local text = ("x"):rep(1000000) ${forever('plugin:emit("flood", text)')}`,
    logged: [slowed],
  },
  {
    id: 'own-events',
    title: 'events that cause themselves twice',
    lua: `plugin:on("echo", function() plugin:emit("echo") plugin:emit("echo") end)
      plugin:setTimeout(1, function() plugin:emit("echo") end)`,
    logged: [slowed],
  },
  {
    id: 'own-messages',
    title: 'MQTT messages that cause themselves two hundred times',
    lua: `for i = 1, 200 do
        plugin:mqttSubscribe("echo/#", function(topic, payload) plugin:mqttPublish("echo/" .. i, payload) end)
      end
      plugin:setTimeout(1, function() plugin:mqttPublish("echo/0", "x") end)`,
    logged: [slowed, 'messages are dropped'],
  },
  {
    id: 'own-announcements',
    title: 'events that cause themselves through what the host says of them',
    lua: `for i = 1, 200 do
        plugin:mqttSubscribe("host/plugins/+/+/events/#", function() plugin:emit("echo:" .. i) end)
      end
      plugin:setTimeout(1, function() plugin:emit("echo") end)`,
    logged: [slowed, 'messages are dropped'],
  },
  { id: 'lines', title: 'log lines', lua: forever('print("again")'), logged: [slowed] },
  {
    id: 'long-lines',
    title: 'long log lines',
    lua: `local line = ("x"):rep(100000) ${forever('plugin:log("info", line)')}`,
  },
  {
    id: 'messages',
    title: 'MQTT messages',
    lua: forever('plugin:mqttPublish("flood/here", "x", { qos = 1 })'),
    logged: [slowed],
  },
  {
    id: 'retained',
    title: 'retained MQTT messages, each on a topic of its own',
    lua: `local n = 0 ${forever('n = n + 1 plugin:mqttPublish("flood/" .. n, "x", { retain = true })')}`,
    logged: [slowed, 'a plugin may have 1000 retained topics'],
  },
  {
    id: 'objects',
    title: 'objects that change',
    lua: `local n = 0 ${forever('n = n + 1 plugin:upsertObject("o." .. n % 100, { n = n })')}`,
    logged: [slowed],
  },
  {
    id: 'large-objects',
    title: 'large objects that change',
    lua: `local values = {} for i = 1, 20000 do values[i] = i end
      ${forever('plugin:upsertObject("large", values)')}`,
    logged: [slowed],
  },
  {
    id: 'questions',
    title: 'questions, with something to say before each',
    lua: forever('print("again") Plugin.list() plugin:getObject("plugins.fixtures.peaceful.state")'),
    logged: [slowed],
  },
  {
    id: 'key-values',
    title: 'key-value entries',
    lua: `local n = 0 ${forever('n = n + 1 plugin:kvSet("k" .. n % 1000, n)')}`,
    logged: [slowed],
  },
  {
    id: 'calls',
    title: 'calls of another plugin, which calls back',
    lua: `local other = Plugin.get("peaceful")
      ${forever('other:each(function() return other:greet("x") end)')}`,
  },
]

/** So that a flood reaches the limit within the test; the share of the host's time is as ever. */
const limits = {
  operationBurst: 500,
  // A plugin that asks questions gets to so many on any machine.
  operationsPerSecond: 100,
  byteBurst: 1024 * 1024,
  luaLoad: 5_000,
  loadDeadline: 10_000,
}

for (const part of [floods.slice(0, 8), floods.slice(8)]) {
  test(`a flood drowns nobody else: of ${part.map(({ title }) => title).join('; ')}`, async (t) => {
    const stage = await startStage(t, part, limits)
    const before = heapAfterCollection()
    for (const { id, title, logged = [] } of part) {
      const attack = async (): Promise<void> => {
        assert.equal((await stage.enable(id)).state, 'running')
        await waitingMilliseconds(duration)
        for (const text of logged) await stage.logged(id, text)
        await stage.disable(id)
      }
      await t.test(title, () => stage.witness(attack()))
    }
    const grown = heapAfterCollection() - before
    t.diagnostic(`the heap has grown by ${grown} bytes`)
    assert.ok(grown < 48 * 1024 * 1024, `the heap has grown by ${grown} bytes`)
  })
}

test('a flood of HTTP requests goes out a few at a time', async (t) => {
  let open = 0
  let most = 0
  let all = 0
  const server = createServer((_request, response) => {
    open += 1
    all += 1
    most = Math.max(most, open)
    setTimeout(() => {
      open -= 1
      response.end('{}')
    }, 5)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const stage = await startStage(t, [
    {
      id: 'requests',
      lua: `local refused = false
        local function again(body, err)
          if err and not refused then refused = true print("refused: " .. tostring(err)) end
        end
        plugin:setInterval(5, function()
          for i = 1, 500 do plugin:httpGet("http://127.0.0.1:${port}/", again) end
        end)`,
    },
  ])
  await stage.witness(
    (async () => {
      assert.equal((await stage.enable('requests')).state, 'running')
      await stage.logged('requests', 'too many requests are waiting')
      await waitingMilliseconds(duration / 2)
      await stage.disable('requests')
    })(),
  )
  assert.ok(all > 0 && most <= 8, `${most} of ${all} at a time`)
})

/** Bytes of the host's heap that are in use. */
function heapAfterCollection(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed
}
