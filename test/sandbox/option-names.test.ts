import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linesOf, pluginSource, withPlugin } from './stage.ts'

test('an option that does not exist is told once, with the one that was meant', async () => {
  await withPlugin(
    pluginSource(`
      local function nothing() end
      for _ = 1, 2 do plugin:emit("x:y", 1, { retian = true }) end
      plugin:mqttPublish("a", "b", { Retain = true })
      plugin:poller("p", { intervall = 1000, every = 5, onTick = nothing })
      plugin:httpRequest({ url = "no address", parsejson = "success" })
      Modbus.readHolding({ host = "", unitId = 3, addr = 1 })
      expose({ get = nothing }, "sensor", { id = "s", units = "W" })
      print("done")
    `),
    async ({ recorder }) => {
      await recorder.logged('done')
      assert.deepEqual(
        recorder.logs().filter((line) => line.startsWith('warn')),
        [
          "warn plugin:emit has no option 'retian' (did you mean: 'retain'?)",
          "warn plugin:mqttPublish has no option 'Retain' (did you mean: 'retain'?)",
          "warn plugin:poller has no option 'intervall' (did you mean: 'interval'?)",
          "warn plugin:poller has no option 'every'",
          "warn plugin:httpRequest has no option 'parsejson' (did you mean: 'parseJson'?)",
          "warn Modbus.readHolding has no option 'unitId' (did you mean: 'unit'?)",
          "warn expose has no option 'units' (did you mean: 'unit'?)",
        ],
      )
    },
  )
})

test('names of options that come from elsewhere do not fill the log', async () => {
  await withPlugin(
    pluginSource(`
      for number = 1, 500 do plugin:kvSet("a", 1, { ["option" .. number] = true }) end
      print("done")
    `),
    async ({ recorder }) => {
      await recorder.logged('done')
      assert.equal(recorder.logs().filter((line) => line.startsWith('warn')).length, 100)
    },
  )
})

test('a poller without a task says that it is missing', async () => {
  assert.deepEqual(
    await linesOf(pluginSource('print(pcall(function() plugin:poller("p", { ontick = print }) end))')),
    ["false\tinit.lua:1: bad argument #2 to 'poller' (its onTick must be a function, not nil)"],
  )
})

test('who calls a function of the plugin API by a name that it nearly has is told its name', async () => {
  await withPlugin(
    pluginSource(`
      for _, call in ipairs({
        function() plugin:setTimout(1, print) end,
        function() plugin:mqttpublish("a", "b") end,
        function() Modbus.readHoldings({}) end,
        function() exposes({}, "sensor", {}) end,
        function() plugin:switchOn() end,
        function() plugin:gett("a") end,
      }) do plugin:setTimeout(1, call) end
      plugin:setTimeout(5, function() print("done") end)
    `),
    async ({ recorder }) => {
      await recorder.logged('done')
      assert.deepEqual(
        recorder.logs().flatMap((line) => /attempt to call a nil value.*/.exec(line) ?? []),
        [
          "attempt to call a nil value (method 'setTimout') (did you mean: 'setTimeout'?)",
          "attempt to call a nil value (method 'mqttpublish') (did you mean: 'mqttPublish'?)",
          "attempt to call a nil value (field 'readHoldings') (did you mean: 'readHolding'?)",
          "attempt to call a nil value (global 'exposes') (did you mean: 'expose'?)",
          "attempt to call a nil value (method 'switchOn')",
          "attempt to call a nil value (method 'gett')",
        ],
      )
    },
  )
})

test('a plugin that could not start says so, too', async () => {
  await assert.rejects(
    withPlugin(pluginSource('plugin:onInnit(function() end)'), () => Promise.resolve()),
    {
      message: /call a nil value \(method 'onInnit'\) \(did you mean: 'onInit'\?\)/,
    },
  )
})
