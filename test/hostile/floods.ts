import assert from 'node:assert/strict'
import { test } from 'node:test'
import { slowdownWhileCollecting } from './measure.ts'
import { type Attack, type Isolation, startStage } from './stage.ts'

/** Plugins that ask for more than anybody needs, as fast as they can. */

interface Flood extends Attack {
  title: string
  /** What the log says of it; several of these. */
  logged?: string[]
}

/** Whatever it does: again and again, without ever giving way by itself. */
const forever = (body: string): string => `plugin:setInterval(1, function() while true do ${body} end end)`

const floods: Flood[] = [
  { id: 'events', title: 'events', lua: forever('plugin:emit("flood", { n = 1 })') },
  {
    id: 'retained-events',
    title: 'retained events, each of another name',
    lua: `local n = 0 ${forever('n = n + 1 plugin:emit("flood:" .. n, n, { retain = true })')}`,
  },
  {
    id: 'large-events',
    title: 'events that are as large as may be',
    lua: `local text = ("x"):rep(1000000) ${forever('plugin:emit("flood", text)')}`,
  },
  {
    id: 'own-events',
    title: 'events that cause themselves twice',
    lua: `plugin:on("echo", function() plugin:emit("echo") plugin:emit("echo") end)
      plugin:setTimeout(1, function() plugin:emit("echo") end)`,
  },
  {
    id: 'own-messages',
    title: 'MQTT messages that cause themselves two hundred times',
    lua: `for i = 1, 200 do
        plugin:mqttSubscribe("echo/#", function(topic, payload) plugin:mqttPublish("echo/" .. i, payload) end)
      end
      plugin:setTimeout(1, function() plugin:mqttPublish("echo/0", "x") end)`,
    logged: ['messages are dropped'],
  },
  {
    id: 'own-announcements',
    title: 'events that cause themselves through what the host says of them',
    lua: `for i = 1, 200 do
        plugin:mqttSubscribe("host/plugins/+/+/events/#", function() plugin:emit("echo:" .. i) end)
      end
      plugin:setTimeout(1, function() plugin:emit("echo") end)`,
    logged: ['messages are dropped'],
  },
  { id: 'lines', title: 'log lines', lua: forever('print("again")') },
  {
    id: 'long-lines',
    title: 'long log lines',
    lua: `local line = ("x"):rep(100000) ${forever('plugin:log("info", line)')}`,
  },
  {
    id: 'messages',
    title: 'MQTT messages',
    lua: forever('plugin:mqttPublish("flood/here", "x", { qos = 1 })'),
  },
  {
    id: 'retained',
    title: 'retained MQTT messages, each on a topic of its own',
    lua: `local n = 0 ${forever('n = n + 1 plugin:mqttPublish("flood/" .. n, "x", { retain = true })')}`,
    logged: ['a plugin may have 1000 retained topics'],
  },
  {
    id: 'objects',
    title: 'objects that change',
    lua: `local n = 0 ${forever('n = n + 1 plugin:upsertObject("o." .. n % 100, { n = n })')}`,
  },
  {
    id: 'large-objects',
    title: 'large objects that change',
    lua: `local values = {} for i = 1, 20000 do values[i] = i end
      ${forever('plugin:upsertObject("large", values)')}`,
  },
  {
    id: 'questions',
    title: 'questions, with something to say before each',
    lua: forever('print("again") Plugin.list() plugin:getObject("plugins.fixtures.peaceful.state")'),
  },
  {
    id: 'key-values',
    title: 'key-value entries',
    lua: `local n = 0 ${forever('n = n + 1 plugin:kvSet("k" .. n % 1000, n)')}`,
  },
  {
    id: 'calls',
    title: 'calls of another plugin, which calls back',
    lua: `local other = Plugin.get("peaceful")
      ${forever('other:each(function() return other:greet("x") end)')}`,
  },
]

/** A flood is not held back by any limit: it has what others leave. */
const limits = { loadTime: 5_000, loadDeadline: 10_000 }

/** In a shared worker whoever floods is soon moved to one of its own: one of each kind will do there. */
const alsoShared = new Set(['events', 'lines', 'messages'])

/** Makes the tests, in workers of that kind. */
export function attackWithFloods(isolation: Isolation): void {
  test(`${isolation}: a flood drowns nobody else`, async (t) => {
    const some = floods.filter(({ id }) => isolation === 'dedicated' || alsoShared.has(id))
    const stage = await startStage(t, some, limits, isolation)
    for (const { id, title, logged = [] } of some) {
      const attack = async (enough: Promise<void>): Promise<void> => {
        assert.equal((await stage.enable(id)).state, 'running')
        for (const text of logged) await stage.logged(id, text)
        await enough
        await stage.disable(id)
      }
      await t.test(title, () => stage.witness(attack, slowdownWhileCollecting))
    }
  })
}
