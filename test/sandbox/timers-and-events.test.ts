import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linesOf, pluginSource, withPlugin } from './stage.ts'

test('§5 timers take fractional, negative and very long delays, and run in order', async () => {
  await withPlugin(
    pluginSource(`
      plugin:setTimeout(40.7, function() print("late") end)
      plugin:setTimeout(-5, function() print("at once") end)
      plugin:setTimeout(2 ^ 31 + 10, function() print("next month") end)
      plugin:setInterval(1e300, function() print("never") end)
    `),
    async ({ recorder, isolate }) => {
      await recorder.logged('late')
      assert.deepEqual(recorder.logs(), ['info at once', 'info late'])
      // The worker tells it with its next message.
      await recorder.until(() => (isolate.resources().timers === 2 ? true : undefined))
    },
  )
})

test('§5 clearing a timer that is unknown, finished or nil does nothing, and ids are not used again', async () => {
  await withPlugin(
    pluginSource(`
      local first = plugin:setTimeout(5, function() print("never") end)
      plugin:clearTimer(first) plugin:clearTimer(first) plugin:clearTimer(nil) plugin:clearTimer("x") plugin:clearTimer(999)
      local second = plugin:setTimeout(5, function() print("second") end)
      print(first ~= second and first and second and true)
      local ticks, interval = 0
      interval = plugin:setInterval(1, function() ticks = ticks + 1 if ticks == 3 then plugin:clearTimer(interval) plugin:setTimeout(20, function() print(ticks) end) end end)
    `),
    async ({ recorder }) => {
      await recorder.logged('3')
      assert.deepEqual(recorder.logs(), ['info true', 'info second', 'info 3'])
    },
  )
})

test('§5 a timer without a function is an error with its line', async () => {
  const lines = await linesOf(
    pluginSource(
      'for _, time in ipairs({ 5, 0 / 0 }) do print(pcall(function() plugin:setTimeout(time) end)) end',
    ),
  )
  assert.deepEqual(lines, [
    "false\tinit.lua:1: bad argument #2 to 'setTimeout' (function expected, got nil)",
    "false\tinit.lua:1: bad argument #1 to 'setTimeout' (number expected, got nan)",
  ])
})

test('§6 an event reaches the emitter’s own listeners in order, copied, and one error does not stop the others', async () => {
  await withPlugin(
    pluginSource(`
      local data = { list = { 1, 2 }, name = "x" }
      plugin:on("tick", function() error("broken") end)
      plugin:on("tick", function(got) got.name = "changed" print("first", got.list[2]) end)
      local off = plugin:on("tick", function() print("never") end)
      EventBus:on("tick", function(got) print("second", got.name, got ~= data) end)
      EventBus.subscribe("tick", function(got) print("third") end)
      off() off()
      plugin:setTimeout(0, function() print(plugin:emit("tick", data)) data.name = "later" print("emitted") end)
    `),
    async ({ recorder }) => {
      await recorder.logged('third')
      const lines = recorder.logs()
      assert.match(lines[2] ?? '', /^error listener of 'tick': init\.lua:3: broken/)
      assert.deepEqual(lines.toSpliced(2, 1), [
        'info true',
        'info emitted',
        'info first\t2',
        'info second\tx\ttrue',
        'info third',
      ])
    },
  )
})

test('§6 the host is told of the first listener of a name and of the last that goes', async () => {
  await withPlugin(
    pluginSource(`
      local one, two = plugin:on("a", print), plugin:on("a", print)
      one() two()
      plugin:on("b", print)
    `),
    ({ recorder, isolate }) => {
      assert.deepEqual(recorder.calls, [
        ['subscribeEvent', 'a'],
        ['unsubscribeEvent', 'a'],
        ['subscribeEvent', 'b'],
      ])
      assert.equal(isolate.resources().eventSubscriptions, 1)
    },
  )
})

test('§6 emit carries data of any JSON kind, and options for MQTT', async () => {
  await withPlugin(
    pluginSource(
      'plugin:emit("a") plugin:emit("b", 1.5, { qos = 1, retain = true }) plugin:emit("c", { x = { 1, "y", false } })',
    ),
    ({ recorder }) =>
      assert.deepEqual(recorder.named('emit'), [
        ['a', undefined, { qos: 0, retain: false }],
        ['b', 1.5, { qos: 1, retain: true }],
        ['c', { x: [1, 'y', false] }, { qos: 0, retain: false }],
      ]),
  )
})

test('§6 throttle lets the first of each key through, and trailing sends the last when the window closes', async () => {
  await withPlugin(
    pluginSource(`
      local o = { throttle = 60000 }
      print(plugin:emit("a", 1, o), plugin:emit("a", 2, o), plugin:emit("b", 3, o))
      print(plugin:emit("a", 4, { throttle = 60000, key = "k1" }), plugin:emit("a", 5, { throttle = 60000, key = "k1" }), plugin:emit("a", 6, { throttle = 60000, key = "k2" }))
      for i = 7, 9 do plugin:emit("t", i, { throttle = 30, trailing = true }) end
    `),
    async ({ recorder }) => {
      await recorder.until(() => (recorder.named('emit').some(([, data]) => data === 9) ? true : undefined))
      assert.deepEqual(recorder.logs(), ['info true\tfalse\ttrue', 'info true\tfalse\ttrue'])
      assert.deepEqual(
        recorder.named('emit').map(([name, data]) => [name, data]),
        [
          ['a', 1],
          ['b', 3],
          ['a', 4],
          ['a', 6],
          ['t', 7],
          ['t', 9],
        ],
      )
    },
  )
})

test('§6 coalesce gathers a field and sends one event at the end of the window', async () => {
  await withPlugin(
    pluginSource(`
      for _, room in ipairs({ "hall", "bath", "hall" }) do
        print(plugin:emit("changed", { room = room }, { throttle = 20, coalesce = true, key = "room" }))
      end
    `),
    async ({ recorder }) => {
      await recorder.until(() => recorder.named('emit')[0])
      assert.deepEqual(recorder.logs(), ['info false', 'info false', 'info false'])
      assert.deepEqual(recorder.named('emit'), [
        ['changed', { rooms: ['hall', 'bath', 'hall'] }, { qos: 0, retain: false }],
      ])
    },
  )
})

test('§6 an event without the field that coalesce gathers is told once, and does not hold up the others', async () => {
  await withPlugin(
    pluginSource(`
      for _, data in ipairs({ { rooms = "hall" }, { room = "hall" }, { room = 0 / 0 }, "hall" }) do
        plugin:emit("changed", data, { throttle = 20, coalesce = true, key = "room" })
      end
    `),
    async ({ recorder }) => {
      await recorder.until(() => recorder.named('emit')[0])
      assert.deepEqual(recorder.named('emit'), [['changed', { rooms: ['hall'] }, { qos: 0, retain: false }]])
      assert.deepEqual(recorder.logs(), [
        "warn event 'changed': its data has no 'room' to coalesce: it is not sent",
        "warn event 'changed': the number nan has no JSON: it counts as nil",
      ])
    },
  )
})

test('§6 what is held back at unload is dropped', async () => {
  await withPlugin(
    pluginSource('for i = 1, 2 do plugin:emit("a", i, { throttle = 10000, trailing = true }) end'),
    async ({ recorder, isolate }) => {
      assert.equal(isolate.resources().throttles, 1)
      await isolate.unload()
      assert.equal(recorder.named('emit').length, 1)
    },
  )
})

test('§5 a poller goes by the number of arguments of done, and tells its stats', async () => {
  await withPlugin(
    pluginSource(`
      local function try(name, ...)
        local args, count = { ... }, select("#", ...)
        local p = plugin:poller("same name", { onTick = function(done) done((unpack or table.unpack)(args, 1, count)) end,
          onError = function(err, stats) print(name, err, stats.errorCount, stats.inFlight) end })
        p:poll()
        local stats = p:stats()
        print(name, stats.tickCount, stats.errorCount, stats.running, stats.lastError, stats.lastTick <= os.time())
      end
      try("none") try("nil", nil) try("error", "bad") try("result", { 1 }, nil) try("both", nil, "worse") try("false", false)
    `),
    ({ recorder, isolate }) => {
      assert.deepEqual(recorder.logs(), [
        'info none\t1\t0\tfalse\tnil\ttrue',
        'info nil\t1\t0\tfalse\tnil\ttrue',
        'info error\tbad\t1\tfalse',
        'info error\t1\t1\tfalse\tbad\ttrue',
        'info result\t1\t0\tfalse\tnil\ttrue',
        'info both\tworse\t1\tfalse',
        'info both\t1\t1\tfalse\tworse\ttrue',
        'info false\t1\t0\tfalse\tnil\ttrue',
      ])
      assert.equal(isolate.resources().pollers, 0)
    },
  )
})

test('§5 a poller that goes on failing for one reason says so once, and again when it works', async () => {
  await withPlugin(
    pluginSource(`
      local answers = { "off", "off", "refused", "off", false, false, "off" }
      local p = plugin:poller("meter", { onTick = function(done) done(table.remove(answers, 1)) end })
      for _ = 1, 7 do p.poll() end
    `),
    ({ recorder }) => {
      assert.deepEqual(recorder.logs(), [
        "warn poller 'meter' failed: off",
        "warn poller 'meter' failed: refused",
        "warn poller 'meter' failed: off",
        "info poller 'meter' works again, after 4 that failed",
        "warn poller 'meter' failed: off",
      ])
    },
  )
})

test('§5 a poller retries what raises, times out, and is released at unload', async () => {
  await withPlugin(
    pluginSource(`
      local attempts = 0
      local p = plugin:poller("flaky", { interval = 60000, immediate = true, retry = { attempts = 3, backoff = 5 },
        onTick = function(done) attempts = attempts + 1 if attempts < 3 then error("attempt " .. attempts) end print("third") done() end })
      p:start() p:start()
      plugin:poller("slow", { interval = 0, timeout = 20, onTick = function() end, onError = function(err) print(err) end }):poll()
    `),
    async ({ recorder, isolate }) => {
      await recorder.logged('third')
      await recorder.logged('info timeout')
      assert.deepEqual(
        recorder.logs().filter((line) => line.startsWith('error')),
        [],
      )
      await recorder.until(() => (isolate.resources().pollers === 1 ? true : undefined))
      await isolate.unload()
      assert.equal(isolate.resources().pollers, 0)
    },
  )
})
