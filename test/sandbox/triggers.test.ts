import assert from 'node:assert/strict'
import { test } from 'node:test'
import { json, linesOf, pluginSource, printedIn, withPlugin } from './stage.ts'

test('§17 a schedule is asked of the host, called when its time has come, and ended by clearTimer', () =>
  withPlugin(
    pluginSource(`
      local first = plugin:at("07:30", function(...) print("morning", select("#", ...)) end,
        { days = { "mon", "fri" }, timezone = "Europe/Berlin", catchUp = 5000 })
      local second = plugin:cron("*/5 * * * *", function() error("no") end)
      local third = plugin:setTimeout(1e9, print)
      plugin:on("clear", function() plugin:clearTimer(first) plugin:clearTimer(first) plugin:clearTimer(third) end)
      print(type(first), second > first, third > second)
    `),
    async ({ recorder, isolate }) => {
      assert.deepEqual(recorder.named('setSchedule'), [
        [1, { kind: 'at', time: '07:30', timezone: 'Europe/Berlin', catchUp: 5_000, days: ['mon', 'fri'] }],
        [2, { kind: 'cron', expression: '*/5 * * * *' }],
      ])
      await recorder.until(() => isolate.resources().schedules === 2 || undefined)
      isolate.deliverSchedule(1)
      isolate.deliverSchedule(2)
      isolate.deliverSchedule(9)
      await recorder.logged('schedule: init.lua')
      isolate.deliverEvent('clear', json())
      await recorder.until(() => isolate.resources().schedules === 1 || undefined)
      isolate.deliverSchedule(1)
      await isolate.unload()
      assert.deepEqual(recorder.named('removeSchedule'), [[1], [2]])
      assert.deepEqual(
        recorder.logs().filter((line) => line.startsWith('info')),
        ['info number\ttrue\ttrue', 'info morning\t0'],
      )
    },
  ))

test('§17 a schedule whose missed runs are made up for at any age says so with math.huge', () =>
  withPlugin(
    pluginSource('print(type(plugin:cron("0 3 * * *", print, { catchUp = math.huge })))'),
    ({ recorder }) => {
      assert.deepEqual(recorder.logs(), ['info number'])
      const expected = { kind: 'cron', expression: '0 3 * * *', catchUp: Number.MAX_VALUE }
      assert.deepEqual(recorder.named('setSchedule'), [[1, expected]])
    },
  ))

test('§17 a time that is none gives nil and a message, and holds nothing', () =>
  withPlugin(
    pluginSource(`
      print(plugin:at("7", print))
      print(plugin:cron("0 0 31 2 *", print))
      print(plugin:cron("* * * * *", print, { timezone = "Mars/Base" }))
      print(plugin:at("", print))
      print(plugin:at("07:30", print, { timezone = "" }))
      print(plugin:cron(("x"):rep(2000), print))
      print(pcall(function() plugin:at("07:30") end))
      print(pcall(function() plugin:at("07:30", print, { days = "mon" }) end))
      print(pcall(function() plugin:at("07:30", print, { latitude = "north" }) end))
    `),
    async ({ recorder, isolate }) => {
      const lines = recorder.logs().map((line) => line.replace(/^info /, ''))
      assert.match(lines[0] ?? '', /^nil\tat: '7' is no time/)
      assert.deepEqual(lines.slice(1, 6), [
        'nil\tcron: it has no next time',
        "nil\tcron: there is no time zone 'Mars/Base'; they are called as in Europe/Berlin",
        'nil\tat: times and zones have 1 to 1024 characters',
        'nil\tat: times and zones have 1 to 1024 characters',
        'nil\tcron: times and zones have 1 to 1024 characters',
      ])
      assert.match(lines[6] ?? '', /bad argument #2 to 'at' \(function expected, got nil\)/)
      assert.match(lines[7] ?? '', /the option days must be a list/)
      assert.match(lines[8] ?? '', /the option latitude must be a number, not string/)
      await isolate.unload()
      assert.equal(recorder.named('removeSchedule').length, 3)
    },
  ))

test('§17 an object is watched by either of its full paths, and a pattern that no value has is an error', () =>
  withPlugin(
    pluginSource(`
      plugin:onObject("@a/b:room.lamp", print)
      plugin:onObject("@a/b.c:**", print)
      plugin:onObject("**", print)
      plugin:onSensor("*/*/power", print)
      for _, name in ipairs({ "lamp", "plugins.a.b", "@a/b/lamp" }) do print(pcall(function() plugin:onObject(name, print) end)) end
      for _, name in ipairs({ "power", "b/power", "@a/b" }) do print(pcall(function() plugin:onSensor(name, print) end)) end
    `),
    ({ recorder }) => {
      assert.deepEqual(
        recorder.named('watch').map(([, { pattern }]: any) => pattern),
        ['plugins.a.b.room.lamp', 'plugins.a.b.c.**', '**', '*/*/power'],
      )
      assert.deepEqual(
        printedIn(recorder).map((line) => line.replace(/.*init\.lua:\d+: /, '')),
        [
          ...["'lamp'", "'plugins.a.b'", "'@a/b/lamp'"].map(
            (name) => `${name} is no full path: expected @namespace/id:path`,
          ),
          ...["'power'", "'b/power'", "'@a/b'"].map(
            (name) => `${name} is no full path: expected @namespace/id/sensor`,
          ),
        ],
      )
    },
  ))

test('§17 watchers are asked of the host, and told value, previous value and name', () =>
  withPlugin(
    pluginSource(`
      local off = plugin:onObject("plugins.a.b.**", function(value, previous, path)
        print("object", value and value.n, previous and previous.n, path)
      end, { stays = 5 })
      plugin:onSensor("@a/*/power", function(value, previous, id, from) print("sensor", value, previous, id, from) end,
        { now = false, debounce = 7 })
      plugin:on("off", function() off() off() end)
      print(pcall(function() plugin:onSensor("a/**/b", print) end))
    `),
    async ({ recorder, isolate }) => {
      assert.deepEqual(recorder.named('watch'), [
        [1, { of: 'object', pattern: 'plugins.a.b.**', now: true, stays: 5, debounce: 0 }],
        [2, { of: 'point', pattern: '@a/*/power', now: false, stays: 0, debounce: 7 }],
      ])
      isolate.deliverWatched(1, 'plugins.a.b.x', json([{ n: 1 }, null]))
      isolate.deliverWatched(2, '@a/b/power/of/all', json([2.5, false]))
      isolate.deliverWatched(1, 'plugins.a.b.x', json([null, { n: 1 }]))
      await recorder.logged('object\tnil')
      isolate.deliverEvent('off', json())
      await recorder.until(() => isolate.resources().watches === 1 || undefined)
      isolate.deliverWatched(1, 'plugins.a.b.x', json([{ n: 2 }, null]))
      await isolate.unload()
      assert.deepEqual(recorder.named('unwatch'), [[1], [2]])
      assert.deepEqual(recorder.logs().slice(1), [
        'info object\t1\tnil\tplugins.a.b.x',
        'info sensor\t2.5\tfalse\tpower/of/all\t@a/b',
        'info object\tnil\t1\tplugins.a.b.x',
      ])
      assert.match(recorder.logs()[0] ?? '', /\*\* must be the last part/)
    },
  ))

test('§17 what the host refuses to a watcher is an error', () =>
  withPlugin(
    pluginSource(`plugin:on("go", function() print(pcall(plugin.onSensor, plugin, "@a/b/c", print)) end)`),
    async ({ recorder, isolate }) => {
      recorder.services.watch = () => 'not allowed'
      isolate.deliverEvent('go', json())
      assert.match(await recorder.logged('false'), /not allowed/)
      await recorder.until(() => isolate.resources().watches === 0 || undefined)
    },
  ))

test('§17 a schedule that the host fails to set up is an error, and holds nothing', () =>
  withPlugin(
    pluginSource(`plugin:on("go", function() print(pcall(plugin.cron, plugin, "* * * * *", print)) end)`),
    async ({ recorder, isolate }) => {
      recorder.services.setSchedule = () => Promise.reject(new Error('no room on the disk'))
      isolate.deliverEvent('go', json())
      assert.match(await recorder.logged('false'), /no room on the disk/)
      await recorder.until(() => recorder.named('removeSchedule').length === 1 || undefined)
      await recorder.until(() => isolate.resources().schedules === 0 || undefined)
    },
  ))

test('§6 a listener with * for a part hears all such events, once each, with name and emitter', () =>
  withPlugin(
    pluginSource(`
      local off = plugin:on("salda:*", function(data, name, from) print("all", data.n, name, from) end)
      plugin:on("salda:error", function(data, name) print("one", data.n, name) end)
      plugin:on("*:error", function(data, name) print("errors", data.n, name) end)
      plugin:on("off", function() off() end)
    `),
    async ({ recorder, isolate }) => {
      isolate.deliverEvent('salda:error', json({ n: 1 }), '@a/salda')
      isolate.deliverEvent('salda:state', json({ n: 2 }), '@a/salda')
      isolate.deliverEvent('salda:a:error', json({ n: 3 }), '@a/salda')
      isolate.deliverEvent('off', json())
      isolate.deliverEvent('salda:state', json({ n: 4 }), '@a/salda')
      isolate.deliverEvent('x:error', json({ n: 5 }), '@a/x')
      await recorder.logged('errors\t5')
      assert.deepEqual(recorder.logs(), [
        'info one\t1\tsalda:error',
        'info all\t1\tsalda:error\t@a/salda',
        'info errors\t1\tsalda:error',
        'info all\t2\tsalda:state\t@a/salda',
        'info errors\t5\tx:error',
      ])
      assert.deepEqual(recorder.named('unsubscribeEvent'), [['salda:*']])
    },
  ))

test('§6 a pattern of more than 64 parts is refused each time, and neither takes room nor is the host told of it', () =>
  withPlugin(
    pluginSource(`
      local pattern = ("*:"):rep(64) .. "*"
      for _ = 1, 2 do print(pcall(function() plugin:on(pattern, function() end) end)) end
      plugin:on("one", function() end)
      print("done")
    `),
    async ({ recorder, isolate }) => {
      await recorder.logged('done')
      const refusal = 'info false\tinit.lua:3: the pattern has more than 64 parts'
      assert.deepEqual(recorder.logs(), [refusal, refusal, 'info done'])
      assert.deepEqual(recorder.named('subscribeEvent'), [['one']])
      await recorder.until(() => isolate.resources().eventSubscriptions === 1 || undefined)
    },
  ))

test('§17 a plugin without any of it says so', async () => {
  assert.deepEqual(
    await linesOf(pluginSource('plugin:clearTimer(77) plugin:clearTimer(nil) print("fine")')),
    ['fine'],
  )
})
