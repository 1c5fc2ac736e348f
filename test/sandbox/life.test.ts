import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IsolateError } from '../../src/sandbox/isolate.ts'
import { noResources } from '../../src/schema/plugin/plugin.ts'
import { createRecorder, linesOf, pluginSource, rawSource, testSandbox, withPlugin } from './stage.ts'

async function loadFailure(
  source: ReturnType<typeof rawSource>,
): Promise<{ error: IsolateError; calls: unknown[] }> {
  const sandbox = testSandbox()
  const recorder = createRecorder()
  try {
    await sandbox.load(source, recorder.services)
  } catch (error) {
    assert.ok(error instanceof IsolateError)
    return { error, calls: recorder.calls }
  } finally {
    await sandbox.close()
  }
  return assert.fail('the plugin loaded')
}

test('§2.1 the chunk runs from top to bottom, and the init callback after it', async () => {
  const lines = await linesOf(
    pluginSource(`
      plugin:onInit(function() print("replaced") end)
      plugin:onInit(function() print("init, " .. later()) end)
      print("top")
      function later() return "with a function from further down" end
      print("bottom")
    `),
  )
  assert.deepEqual(lines, ['top', 'bottom', 'init, with a function from further down'])
})

test('§2.1 functions assigned as methods are the callbacks too', async () => {
  await withPlugin(
    pluginSource(
      `
      function plugin:onInit(config) print("init of " .. self.shortId .. " with " .. config.city) end
      function plugin:onCleanup() print("cleanup of " .. self.shortId) end
    `,
      { config: { city: 'Bern' } },
    ),
    async ({ recorder, isolate }) => {
      await isolate.unload()
      assert.deepEqual(recorder.logs(), ['info init of probe with Bern', 'info cleanup of probe'])
    },
  )
})

test('§2.3 the instance has the fields of the manifest, and its own meta', async () => {
  const lines = await linesOf(
    rawSource(`
      local plugin = Plugin:new("@test/probe", { name = "Other", colour = "red" })
      print(plugin.id, plugin.shortId, plugin.name, plugin.version, plugin.description, plugin.meta.colour)
      local second = Plugin:new("probe")
      print(type(second.meta), plugin.log == second.log)
      plugin.list = function() return "mine" end
      print(plugin.list())
      return second
    `),
  )
  assert.deepEqual(lines, [
    '@test/probe\tprobe\tProbe\t1.2.3\tA plugin under test\tred',
    'table\ttrue',
    'mine',
  ])
})

test('a plugin of a fleet knows its host and its epoch at each load, and any other one has neither', async () => {
  const lua = 'print(plugin.host, plugin.epoch, math.type(plugin.epoch))'
  for (const [overrides, line] of [
    [{ host: 'cellar', epoch: 1 }, 'cellar\t1\tinteger'],
    [{ host: 'attic-2', epoch: 70_000_000_000 }, 'attic-2\t70000000000\tinteger'],
    [{}, 'nil\tnil\tnil'],
  ] as const)
    assert.deepEqual(await linesOf(pluginSource(lua, overrides)), [line])
})

test('§2.4 plugin.config is there before init, and is the table that init receives', async () => {
  const lines = await linesOf(
    pluginSource(
      `
      print(plugin.config.city, plugin.config.unset)
      plugin.config.added = 7
      plugin:onInit(function(config) print(config == plugin.config, config.added, plugin:getConfig("city"), plugin:getConfig("unset", "default")) end)
    `,
      { config: { city: 'Bern', unset: null } },
    ),
  )
  assert.deepEqual(lines, ['Bern\tnil', 'true\t7\tBern\tdefault'])
})

test('§2.2 a second Plugin:new counts, with a warning', async () => {
  await withPlugin(
    rawSource('Plugin:new("first") Plugin:new("probe"):onInit(function() print("ran") end)'),
    ({ recorder }) => {
      assert.deepEqual(recorder.logs(), [
        'warn Plugin:new was called a second time; the last one counts',
        'info ran',
      ])
    },
  )
})

test('§2.2 another id than the manifest’s fails the load and says so', async () => {
  const { error } = await loadFailure(rawSource('Plugin:new("stranger")'))
  assert.equal(error.code, 'plugin_id_mismatch')
  assert.match(error.message, /Plugin:new\("stranger"\).*@test\/probe/)
})

test('§2.2 a chunk without Plugin:new fails the load with a clear sentence', async () => {
  const { error } = await loadFailure(rawSource('print("nothing")'))
  assert.equal(error.code, 'lua_error')
  assert.match(error.message, /did not call Plugin:new\("probe"/)
})

test('§2.5 a syntax error fails the load with file and line', async () => {
  const { error } = await loadFailure(pluginSource('\n\nlocal = 5'))
  assert.equal(error.code, 'lua_error')
  assert.match(error.message, /^init\.lua:3: /)
})

test('§2.5 an init callback that raises fails the load, and what was created is gone', async () => {
  const { error, calls } = await loadFailure(
    pluginSource(`
      local function deep() error("no network") end
      plugin:onInit(function()
        plugin:upsertObject("now", { value = 1 })
        plugin:on("tick", print)
        plugin:setInterval(1, function() print("alive") end)
        deep()
      end)
    `),
  )
  assert.equal(error.code, 'lua_error')
  assert.match(error.message, /^init\.lua:2: no network/)
  assert.match(error.traceback, /init\.lua:7/)
  assert.deepEqual(calls, [
    ['setObject', 'now', { value: 1 }],
    ['subscribeEvent', 'tick'],
    ['unsubscribeEvent', 'tick'],
    ['setObject', 'now', undefined],
  ])
})

test('§2.6 an unload calls onCleanup, then releases everything in the specified order, and counts zero', async () => {
  await withPlugin(
    pluginSource(`
      plugin:onInit(function()
        plugin:upsertObject("now", { value = 1 })
        plugin:control("lamp", function() return true end, function() end)
        plugin:sensor("warm", function() return 21 end)
        plugin:mqttSubscribe("a/+", print)
        plugin:on("tick", print)
        plugin:emit("tock", 1, { throttle = 100000 })
        plugin:setTimeout(100000, print)
        plugin:setInterval(100000, print)
      end)
      plugin:onCleanup(function() plugin:upsertObject("bye", { value = 2 }) print("bye") end)
    `),
    async ({ recorder, isolate }) => {
      assert.deepEqual(isolate.resources(), {
        ...noResources,
        timers: 2,
        throttles: 1,
        eventSubscriptions: 1,
        mqttSubscriptions: 1,
        objects: 1,
        sensors: 1,
        controls: 1,
      })
      const before = recorder.calls.length
      const unloads = [isolate.unload(), isolate.unload()]
      await Promise.all(unloads)
      const after = recorder.calls.slice(before)
      assert.deepEqual(after, [
        ['setObject', 'bye', { value: 2 }],
        ['log', 'info', 'bye'],
        ['unsubscribeEvent', 'tick'],
        ['unsubscribeTopic', 1],
        ['removePoint', 'sensor', 'warm'],
        ['removePoint', 'control', 'lamp'],
        ['setObject', 'now', undefined],
        ['setObject', 'bye', undefined],
      ])
      assert.deepEqual(isolate.resources(), noResources)
      assert.equal(await isolate.ended, undefined)
    },
  )
})

test('§2.6 an onCleanup that raises is logged, and the clean-up goes on', async () => {
  await withPlugin(
    pluginSource(`
      plugin:upsertObject("now", { value = 1 })
      plugin:onCleanup(function() error("broken") end)
    `),
    async ({ recorder, isolate }) => {
      await isolate.unload()
      assert.match(recorder.logs().join('\n'), /error onCleanup: init\.lua:3: broken/)
      assert.deepEqual(recorder.calls.at(-1), ['setObject', 'now', undefined])
      assert.deepEqual(isolate.resources(), noResources)
    },
  )
})

test('§2.6 an onCleanup that does not end is stopped by Lua’s own limit', async () => {
  await withPlugin(
    pluginSource(`
      plugin:upsertObject("now", { value = 1 })
      plugin:onCleanup(function() while true do end end)
    `),
    async ({ recorder, isolate }) => {
      await isolate.unload()
      assert.match(recorder.logs().join('\n'), /error onCleanup: .*longer than 0\.1 s/)
      assert.deepEqual(recorder.calls.at(-1), ['setObject', 'now', undefined])
    },
    { cleanupTime: 100 },
  )
})

test('§2.6 an onCleanup that resists Lua’s limit is ended by force, and the host takes back what is left', async () => {
  await withPlugin(
    pluginSource(`
      plugin:upsertObject("now", { value = 1 })
      plugin:sensor("warm", function() return 21 end)
      plugin:onCleanup(function() while true do end end)
    `),
    async ({ recorder, isolate }) => {
      await isolate.unload()
      assert.deepEqual(recorder.calls.slice(-2), [
        ['removePoint', 'sensor', 'warm'],
        ['setObject', 'now', undefined],
      ])
      assert.match(recorder.logs().at(-1) ?? '', /ended by force/)
      assert.deepEqual(isolate.resources(), noResources)
      assert.equal(await isolate.ended, undefined)
    },
    { cleanupTime: 60_000, unloadDeadline: 300 },
  )
})

test('§2.7 an interval whose callback fails is logged with a traceback, and goes on', async () => {
  await withPlugin(
    pluginSource(`
      local count = 0
      plugin:setInterval(1, function() count = count + 1 if count < 3 then error("attempt " .. count) end print("third") end)
    `),
    async ({ recorder }) => {
      await recorder.logged('third')
      assert.match(recorder.logs()[0] ?? '', /^error timer: init\.lua:3: attempt 1/)
      const [[, , fields] = []] = recorder.named('log')
      assert.match((fields as { traceback: string }).traceback, /init\.lua:3: in function/)
    },
  )
})

test('§2.6 a second load runs the chunk afresh', async () => {
  const sandbox = testSandbox()
  try {
    for (let round = 0; round < 2; round += 1) {
      const recorder = createRecorder()
      const isolate = await sandbox.load(
        pluginSource('count = (count or 0) + 1 print(count)'),
        recorder.services,
      )
      await isolate.unload()
      assert.deepEqual(recorder.logs(), ['info 1'])
    }
  } finally {
    await sandbox.close()
  }
})
