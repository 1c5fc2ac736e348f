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

test('an option that is left out because of its value is told once, with what it must be', async () => {
  await withPlugin(
    pluginSource(`
      local function nothing() end
      local lamp = { get = nothing }
      for _ = 1, 2 do plugin:kvSet("a", 1, { ttl = "1h", secure = "no" }) end
      plugin:kvSet("a", 1, 60)
      plugin:mqttPublish("a", "b", { qos = 3, retain = 0 })
      plugin:emit("x:y", 1, { throttle = -1, key = {}, qos = "high" })
      plugin:emit("x:y", 1, true)
      plugin:emit("x:y", { door = 1 }, { throttle = 1000, coalesce = true })
      plugin:poller("p", {
        interval = "a minute", initialDelay = -5, timeout = 0, retry = 3, onTick = nothing, onError = "log",
      })
      plugin:poller("q", { retry = { attempts = "many" }, onTick = nothing })
      plugin:httpRequest({ url = "no address", timeout = -1, parseJson = "succes", verifySSL = "false" })
      Modbus.readHolding({ host = "", addr = 1, timeout = "long" })
      expose(lamp, "select", { id = "s", name = lamp, min = "low", options = "a,b", modes = { {} } })
      expose({ get = nothing }, "number", { id = "n", min = 5, max = 1, step = 0 })
      expose({ get = nothing }, "sensor", { id = "e", unit = "kWh", state_class = "total_incresing" })
      plugin:onSensor("@test/other/x", nothing, 5000)
      for _ = 1, 2 do lamp:setAvailable("false") end
      for _ = 1, 2 do plugin:url("http://h/", "x=1") end
      plugin:tcpConnect("127.0.0.1", 1, { reconnect = false, tls = { insecureSkipVerify = "no", servername = "meter" } })
    `),
    async ({ recorder }) => {
      await recorder.logged('tcpConnect: there is no network here')
      const warnings = recorder.logs().filter((line) => line.startsWith('warn'))
      const expected = [
        'plugin:kvSet: the option ttl must be a number, not "1h": it is ignored',
        'plugin:kvSet: the option secure must be true or false, not "no": it counts as true',
        'plugin:kvSet: the options must be a table, not a number: they are ignored',
        'plugin:mqttPublish: the option qos must be 0, 1 or 2, not 3: it is ignored',
        'plugin:mqttPublish: the option retain must be true or false, not 0: it counts as true',
        'plugin:emit: the option throttle must be a number of milliseconds from 0, not -1: it is ignored',
        'plugin:emit: the option key must be a string, not a table: it is ignored',
        'plugin:emit: the option qos must be 0, 1 or 2, not "high": it is ignored',
        'plugin:emit: the option coalesce needs key, the name of a field, and throttle: it is ignored',
        'expose: the option max must be a number above min, not 1: it is ignored',
        'expose: the option step must be a number above 0, not 0: it is ignored',
        'expose: the option state_class must be "measurement", "total", "total_increasing" or "measurement_angle", not "total_incresing": it is ignored',
        'plugin:emit: the options must be a table, not a boolean: they are ignored',
        'plugin:poller: the option interval must be a number of milliseconds from 0, not "a minute": it is ignored',
        'plugin:poller: the option initialDelay must be a number of milliseconds from 0, not -5: it is ignored',
        'plugin:poller: the option timeout must be a number of milliseconds above 0, not 0: it is ignored',
        'plugin:poller: the option retry must be a table such as { maxAttempts = 3, backoff = 1000 }, not 3: it is ignored',
        'plugin:poller: the option onError must be a function, not "log": it is ignored',
        'plugin:httpRequest: the option timeout must be a number of milliseconds above 0, not -1: it is ignored',
        'plugin:httpRequest: the option parseJson must be "success", "always" or "never", not "succes": it is ignored',
        'plugin:httpRequest: the option verifySSL must be true or false, not "false": it counts as true',
        'Modbus.readHolding: the option timeout must be a number of milliseconds above 0, not "long": it is ignored',
        'expose: the option name must be a string, not a table: it is ignored',
        'expose: the option min must be a number, not "low": it is ignored',
        'expose: the option options must be a list of strings, not "a,b": it is ignored',
        'expose: the option modes must be a list of strings, not a table: it is ignored',
        'plugin:onSensor: the options must be a table, not a number: they are ignored',
        'plugin:url: the parameters must be a table, not a string: they are ignored',
        'setAvailable: the value must be true or false, not "false": it counts as true',
        'tls: the option insecureSkipVerify must be true or false, not "no": it counts as true',
        "tls has no option 'servername' (did you mean: 'serverName'?)",
        'tcpConnect: there is no network here',
      ]
      assert.deepEqual(warnings.sort(), expected.map((line) => `warn ${line}`).sort())
    },
  )
})

test('of a table that has other values than it must nobody is told that it must be a table, not a table', async () => {
  await withPlugin(
    pluginSource(
      `plugin:poller("p", { retry = { maxAttempts = 0 }, onTick = function() end }) print("done")`,
    ),
    async ({ recorder }) => {
      await recorder.logged('done')
      assert.deepEqual(
        recorder.logs().filter((line) => line.startsWith('warn')),
        [
          'warn plugin:poller: the option retry must be a table such as { maxAttempts = 3, backoff = 1000 }: it is ignored',
        ],
      )
    },
  )
})

test('an option as the plugin API permits it is told of by nobody', async () => {
  await withPlugin(
    pluginSource(`
      local function nothing() end
      plugin:kvSet("a", 1, { ttl = "3600", secure = false })
      plugin:kvSet("b", 1, { ttl = -1 })
      plugin:mqttPublish("a", "b", { qos = "1", retain = true })
      plugin:emit("x:y", 1, { throttle = 0, key = 7, coalesce = 500 })
      plugin:poller("p", { interval = 0, timeout = false, retry = { attempts = 2 }, onTick = nothing })
      plugin:httpRequest({ url = "no address", parseJson = false, verifySSL = false, log = false })
      expose({ get = nothing }, "select", { id = "s", options = { "a", 2 }, min = "0" })
      print("done")
    `),
    async ({ recorder }) => {
      await recorder.logged('done')
      assert.deepEqual(
        recorder.logs().filter((line) => line.startsWith('warn')),
        [],
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
