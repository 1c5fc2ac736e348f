import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linesWith, withStage } from '../plugins-stage.ts'
import { json } from '../stage.ts'

test('§9 Plugin.get finds a running plugin by its full id, by its short id when only one installed one has it, else nil', async () => {
  await withStage(async ({ load }) => {
    await load('sun', `function plugin:who() return self.id end`)
    const { recorder } = await load(
      'probe',
      `
        print(Plugin.get("@test/sun"):who(), Plugin.get("sun"):who(), Plugin:get("sun"):who(), Plugin.getPlugin("sun"):who())
        print(Plugin.get("moon"), Plugin.get("@other/sun"), Plugin.getPlugin("@test/moon"), plugin:getPlugin("sun"):who())
        print(Plugin.get("@test/probe") == plugin, Plugin.get("sun") == Plugin.get("@test/sun"))
        print(Plugin.get("probe") == plugin, require("probe") == plugin)
        print(pcall(Plugin.get))
        plugin:on("again", function() print(Plugin.get("sun"), Plugin.get("@other/sun"):who(), Plugin.get("probe") == plugin) end)
      `,
    )
    await load('namesake', `function plugin:who() return self.id end`, {
      id: '@other/sun',
      shortId: 'sun',
      files: {
        'init.lua': new TextEncoder().encode(
          `local plugin = Plugin:new("sun") function plugin:who() return self.id end`,
        ),
      },
    })
    recorder.isolate?.deliverEvent('again', json())
    await recorder.logged('info nil\t@other/sun')
    assert.deepEqual(recorder.logs(), [
      'info @test/sun\t@test/sun\t@test/sun\t@test/sun',
      'info nil\tnil\tnil\t@test/sun',
      'info true\ttrue',
      'info true\ttrue',
      "info false\tbad argument #1 to 'Plugin.get' (string expected, got nil)",
      'warn Plugin.get: "sun" is the short id of @test/sun and @other/sun; use the full id',
      'info nil\t@other/sun\ttrue',
    ])
  })
})

test('§9 a plugin is found once its init callback has come back, not before', async () => {
  await withStage(async ({ load }) => {
    const { recorder } = await load(
      'early',
      `function plugin:look() return Plugin.get("late") end
       plugin:on("look", function() print(Plugin.get("late") ~= nil) end)`,
    )
    await load(
      'late',
      `
        local early = Plugin.get("early")
        early:setTimeout(0, function() end)
        plugin:onInit(function() print(early:look()) end)
      `,
    ).then(({ recorder: late }) => assert.deepEqual(late.logs(), ['info nil']))
    recorder.isolate?.deliverEvent('look', json())
    await recorder.logged('true')
  })
})

test('§9 a plugin is not found any more once it is being unloaded, also by whom its onCleanup calls', async () => {
  await withStage(async ({ load }) => {
    await load('early', `function plugin:finds() return Plugin.get("late") ~= nil end`)
    const { isolate, recorder } = await load(
      'late',
      `plugin:on("look", function() print(Plugin.get("early"):finds()) end)
       plugin:onCleanup(function() print(Plugin.get("early"):finds()) end)`,
    )
    isolate.deliverEvent('look', json())
    await recorder.logged('true')
    await isolate.unload()
    assert.deepEqual(recorder.logs(), ['info true', 'info false'])
  })
})

test('§9 Plugin.list tells of all installed plugins', async () => {
  await withStage(async ({ load }) => {
    const { recorder } = await load(
      'probe',
      `
        plugin:on("list", function()
          local list = Plugin.list()
          print(#list, #Plugin:list(), #plugin:list())
          for _, p in ipairs(list) do print(p.id, p.shortId, p.name, p.version, p.description, p.enabled) end
        end)
      `,
    )
    recorder.services.listPlugins = () => [
      { id: '@a/b', shortId: 'b', name: 'Ä', version: '1.0.0', description: null, enabled: false },
      {
        id: '@test/probe',
        shortId: 'probe',
        name: 'Probe',
        version: '2.0.0',
        description: 'It',
        enabled: true,
      },
    ]
    recorder.isolate?.deliverEvent('list', json())
    await recorder.logged('@test/probe')
    assert.deepEqual(recorder.logs(), [
      'info 2\t2\t2',
      'info @a/b\tb\tÄ\t1.0.0\tnil\tfalse',
      'info @test/probe\tprobe\tProbe\t2.0.0\tIt\ttrue',
    ])
  })
})

const encoder = new TextEncoder()

test('§9 require takes a file of the plugin, else a running plugin, else raises', async () => {
  await withStage(async ({ load }) => {
    await load('sun', `function plugin:who() return "the sun" end`)
    await load('utils', `function plugin:who() return "a plugin" end`)
    const { recorder } = await load('probe', '', {
      files: {
        'init.lua': encoder.encode(`
          local plugin = Plugin:new("probe")
          shared = "global"
          print(require("utils").who(), require("utils") == require("utils"), require("lib.helpers"))
          print(require("sun"):who(), require("@test/sun") == Plugin.get("sun"))
          print(pcall(require, "moon"))
          print(pcall(require, "/sun/init"))
        `),
        'utils.lua': encoder.encode(
          `print("runs once") return { who = function() return "a file sees " .. shared end }`,
        ),
        'lib/helpers.lua': encoder.encode(`return "helpers"`),
      },
    })
    const nothing = "no plugin '%s' is running"
    assert.deepEqual(recorder.logs(), [
      'info runs once',
      'info a file sees global\ttrue\thelpers',
      'info the sun\ttrue',
      `info false\tmodule 'moon' not found: the manifest's files name no 'moon.lua', and ${nothing.replace('%s', 'moon')}`,
      `info false\tmodule '/sun/init' not found: a file is named from the plugin's own folder, as 'lib.helpers' is, and ${nothing.replace('%s', '/sun/init')}`,
    ])
  })
})

test('§9 methods get the instance, and fluent chains go on with the same object', async () => {
  const lines = await linesWith(
    `
      local Device = {} Device.__index = Device
      function Device:setId(id) self.id = id return self end
      function Device:setPolling(on, seconds) self.polling = on and seconds return self end
      function plugin:create(ip) return setmetatable({ ip = ip }, Device) end
      function plugin:open(options) if not options.host then return nil, "no host" end return self:create(options.host) end
    `,
    `
      local device = other:create("10.0.0.7"):setId("x"):setPolling(true, 60)
      print(device.ip, device.id, device.polling, device:setId("y") == device, device.id)
      print(other:open{}) print(other:open{ host = "10.0.0.8" }.ip)
      local create = other.create
      print(create(other, "1").ip, other["create"](other, "2").ip, other.nothing, pcall(function() other:nothing() end))
    `,
  )
  assert.deepEqual(lines.slice(0, 3), ['10.0.0.7\tx\t60\ttrue\ty', 'nil\tno host', '10.0.0.8'])
  assert.match(lines[3] ?? '', /^1\t2\tnil\tfalse\t.*attempt to call a nil value \(method 'nothing'\)$/)
})

test('§9 an error in the callee is a Lua error in the caller, and says where it came from', async () => {
  await withStage(async ({ load }) => {
    const callee = await load(
      'callee',
      `
        function plugin:fail() error("broken") end
        function plugin:failWith(value) error(value) end
        function plugin:leak() error("token is " .. self.config.token) end
        function plugin:pass(f) f() end
      `,
      { config: { token: 'geheim-4711' }, secrets: ['geheim-4711'] },
    )
    const { recorder } = await load(
      'caller',
      `
        local other = Plugin.get("callee")
        print(pcall(function()
          other:fail()
        end))
        print(pcall(other.failWith, other, { code = 5 }))
        print(pcall(other.failWith, other, setmetatable({}, { __tostring = function() return "an object" end })))
        print(pcall(other.leak, other))
        print(pcall(other.pass, other, function() error("from the callback") end))
        plugin:setTimeout(0, function() other:fail() end)
      `,
    )
    await recorder.logged('error timer')
    const lines = recorder.logs().filter((line) => !line.startsWith('debug'))
    assert.deepEqual(lines, [
      'info false\tinit.lua:4: @test/callee: init.lua:2: broken',
      'info false\t@test/callee: (error object is a table value) {"code":5}',
      'info false\t@test/callee: an object',
      'info false\t@test/callee: init.lua:4: token is ***',
      'info false\t@test/callee: init.lua:5: @test/caller: init.lua:9: from the callback',
      'error timer: init.lua:10: @test/callee: init.lua:2: broken',
    ])
    await callee.recorder.logged('debug call of @test/caller: init.lua:2: broken')
    assert.equal(callee.recorder.logs().filter((line) => !line.startsWith('debug ')).length, 0)
  })
})

test('§9 a callback is called at once, or later from a timer of the callee', async () => {
  await withStage(async ({ load }) => {
    const { recorder: callee } = await load(
      'tg',
      `
        function plugin:send(text, options, done)
          local now = done("now", options.silent)
          plugin:on("later", function() plugin:setTimeout(1, function() print(done({ text = text }, nil), now) end) end)
          return true
        end
        function plugin:hand(f) return f end
      `,
    )
    const { recorder } = await load(
      'caller',
      `
        local tg = Plugin.get("tg")
        local calls = 0
        local function done(result, err)
          calls = calls + 1
          print(calls, type(result) == "table" and result.text or result, err)
          return "answer " .. calls
        end
        print(tg:send("hello", { silent = true }, done))
        print(tg:hand(done) == done, tg:hand(print) == print)
      `,
    )
    callee.isolate?.deliverEvent('later', json())
    await callee.logged('answer 2')
    assert.deepEqual(recorder.logs(), [
      'info 1\tnow\ttrue',
      'info true',
      'info true\ttrue',
      'info 2\thello\tnil',
    ])
    assert.deepEqual(callee.logs(), ['info answer 2\tanswer 1'])
  })
})

test('§9 what a call creates belongs to the plugin whose instance created it', async () => {
  await withStage(async ({ load }) => {
    const weather = await load(
      'weather',
      `function plugin:refreshEvery(ms) return self:setInterval(ms, function() end) end`,
    )
    const caller = await load(
      'caller',
      `
        local weather = Plugin.get("weather")
        print(type(weather:refreshEvery(60000)))
        weather:upsertObject("made.by.call", { by = plugin.id })
        print(weather:getObject("made.by.call").by, plugin:getObject("made.by.call"))
        weather:log("info", "written by a call")
      `,
    )
    await weather.recorder.logged('written by a call')
    assert.deepEqual(weather.recorder.named('setObject'), [['made.by.call', { by: '@test/caller' }]])
    assert.deepEqual(caller.recorder.logs(), ['info number', 'info @test/caller\tnil'])
    assert.equal(weather.isolate.resources().timers, 1)
    assert.equal(caller.isolate.resources().timers, 0)
    await caller.isolate.unload()
    assert.equal(weather.isolate.resources().timers, 1)
  })
})

test('§9 the host API works on a foreign instance, and lets go of a caller that has ended', async () => {
  await withStage(async ({ load }) => {
    const sun = await load('sun', `sensor = plugin:sensor("elevation", function() return 12 end)`)
    const caller = await load(
      'caller',
      `
        local sun = Plugin.get("sun")
        sun:on("sun:rise", function(data) print("rise", data.at) end)
        sun:on("sun:set", function(data) end)()
        sun:mqttSubscribe("some/topic", function() end)
        sun:setInterval(60000, function() end)
        sun:setTimeout(60000, function() end)
        sun:poller("p", { interval = 60000, retry = { attempts = 2 }, onTick = function(done) print("tick") done() end }):start()
        print(sun:get("elevation"):get(), sun:get("none"), sun:jsonEncode({ 1, 2 }), sun:coerceNumber("4"))
        sun:get("elevation"):onChange(function() print("changed") end)
        sun:emit("sun:rise", { at = 6 })
      `,
    )
    await caller.recorder.logged('rise')
    assert.deepEqual(caller.recorder.logs().slice(0, 2), ['info 12\tnil\t[1,2]\t4', 'info rise\t6'])
    const held = { ...sun.isolate.resources() }
    assert.deepEqual(
      {
        events: held.eventSubscriptions,
        mqtt: held.mqttSubscriptions,
        timers: held.timers,
        pollers: held.pollers,
      },
      { events: 1, mqtt: 1, timers: 2, pollers: 1 },
    )
    assert.equal(caller.isolate.resources().eventSubscriptions, 0)

    await caller.isolate.unload()
    await sun.recorder.until(() => (sun.isolate.resources().eventSubscriptions === 0 ? true : undefined))
    const left = sun.isolate.resources()
    assert.deepEqual(
      {
        events: left.eventSubscriptions,
        mqtt: left.mqttSubscriptions,
        timers: left.timers,
        pollers: left.pollers,
      },
      { events: 0, mqtt: 0, timers: 0, pollers: 0 },
    )
    assert.deepEqual(
      sun.recorder.logs().filter((line) => line.includes('was removed')),
      [
        "listener of 'sun:rise'",
        "subscriber of 'some/topic'",
        'timer',
        'timer',
        "poller 'p'",
        "OnChange of 'elevation'",
      ].map((what) => `debug ${what} was removed: @test/caller, whose function it calls, is not running`),
    )
    sun.isolate.deliverEvent('sun:rise', json({ at: 7 }))
    await sun.isolate.unload()
    assert.deepEqual(
      sun.recorder.logs().filter((line) => line.startsWith('error')),
      [],
    )
  })
})

test('§9 an object of another plugin can be exposed, and a setter of it is called there', async () => {
  await withStage(async ({ load }) => {
    await load(
      'hub',
      `
        local on = false
        local lamp = { name = "Lamp" }
        function lamp:get() return on end
        function lamp:set(feature, value) on = value end
        function plugin:lamp() return lamp end
      `,
    )
    const { recorder, isolate } = await load(
      'shown',
      `expose(Plugin.get("hub"):lamp(), "switch", { id = "lamp" })`,
    )
    const states = (): unknown[] => recorder.named('setExposedState').map(([, state]) => state)
    await recorder.until(() => (states().length > 0 ? true : undefined))
    await isolate.setExposed('lamp', 'state', true)
    await recorder.until(() => (states().length > 1 ? true : undefined))
    assert.deepEqual(states(), [{ state: false }, { state: true }])
  })
})
