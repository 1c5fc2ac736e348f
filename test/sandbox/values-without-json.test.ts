import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pluginSource, withPlugin } from './stage.ts'

test('a value that JSON cannot say is told once for each name, and counts as nil', async () => {
  await withPlugin(
    pluginSource(`
      local nan = 0 / 0
      for _ = 1, 2 do plugin:emit("a:whole", print) end
      plugin:emit("a:part", { x = nan, y = -1 / 0, z = 1 })
      plugin:emit("a:other", nan)
      plugin:upsertObject("weather", { wind = nan, rain = 1 })
      plugin:updateObject("weather", { rain = 1 / 0 })
      plugin:mqttPublish("weather/now", { wind = nan })
      plugin:httpRequest({ url = "http://192.0.2.1/", json = { level = nan } }, print)
      expose(plugin:sensor("temperature", function() return nan end), "sensor")
      expose({ get = function() return 1 / 0 end }, "humidity", { id = "air" })
      plugin:control("switch", function() return print end, print)
      plugin:get("temperature"):notify()
      print("done")
    `),
    async ({ recorder }) => {
      await recorder.logged('done')
      await recorder.logged("'switch'")
      await recorder.logged("'air'")
      assert.deepEqual(
        recorder
          .logs()
          .filter((line) => line.startsWith('warn'))
          .sort(),
        [
          "event 'a:other': the number nan",
          "event 'a:part': the number -inf",
          "event 'a:part': the number nan",
          "event 'a:whole': a function",
          "exposure 'air': the number inf",
          "json of 'httpRequest': the number nan",
          "message 'weather/now': the number nan",
          "object 'weather': the number inf",
          "object 'weather': the number nan",
          "sensor 'temperature': the number nan",
          "control 'switch': a function",
        ]
          .map((what) => `warn ${what} has no JSON: it counts as nil`)
          .sort(),
      )
      assert.equal(recorder.named('emit').length, 4)
    },
  )
})

test('methods of a table that is sent, nil, and what is asked for as JSON are no warning', async () => {
  await withPlugin(
    pluginSource(`
      local lamp = { level = 1, on = function() end }
      plugin:emit("lamp:changed", lamp)
      plugin:emit("lamp:gone")
      plugin:upsertObject("lamp", lamp)
      plugin:sensor("unknown", function() end)
      print(pcall(plugin.upsertObject, plugin, "lamp", print))
      print(plugin:jsonEncode({ a = 0 / 0 }), plugin:kvSet("a", 0 / 0))
      print("done")
    `),
    async ({ recorder }) => {
      await recorder.logged('done')
      await recorder.until(() => recorder.named('setPoint')[1])
      assert.deepEqual(recorder.logs(), [
        "info false\tbad argument #2 to 'upsertObject' (table expected, got function)",
        "info {}\tfalse\tthe value of 'a' cannot be stored: the number nan has no JSON",
        'info done',
      ])
    },
  )
})
