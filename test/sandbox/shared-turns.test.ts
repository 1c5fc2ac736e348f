import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withStage } from './plugins-stage.ts'
import { json } from './stage.ts'

/** Plugins of one worker are set aside, and go on where they were: nobody waits for a neighbour's loop. */

const oneWorker = { isolatesBeforeNextWorker: 64, callbackTime: 60_000 }

test('§6 neighbours go on beside an endless loop, which is stopped after its time and not moved', async () => {
  await withStage(
    async ({ load, sandbox }) => {
      const loop = await load(
        'loop',
        'plugin:on("loop", function() print("loops") while true do end end) plugin:on("next", function() print("next") end)',
      )
      const quick = await load(
        'quick',
        'plugin:on("ask", function(n) print("answer", n) end) plugin:setInterval(1, function() plugin:emit("tick") end)',
      )
      loop.isolate.deliverEvent('loop', json())
      loop.isolate.deliverEvent('next', json())
      const before = quick.recorder.named('emit').length
      await quick.recorder.until(() => (quick.recorder.named('emit').length > before + 20 ? true : undefined))
      for (let n = 0; n < 20; n += 1) {
        quick.isolate.deliverEvent('ask', json(n))
        await quick.recorder.logged(`answer\t${n}`)
      }
      assert.ok(!loop.recorder.logs().some((line) => line.includes('next')), 'the loop goes on all the while')
      await loop.recorder.logged('ran for longer than 2 s')
      await loop.recorder.logged('next')
      const [first, second] = sandbox.usage()
      assert.deepEqual([first?.isolation, first?.worker], ['shared', second?.worker])
    },
    { ...oneWorker, callbackTime: 2_000 },
    'shared',
  )
})

test('§6 several that compute have their results, and their neighbour its turns', async () => {
  await withStage(
    async ({ load }) => {
      const sum = `plugin:on("go", function() local s = 0 for i = 1, 3000000 do s = s + i % 7 end print("sum", s) end)`
      const busy = await Promise.all(['a', 'b', 'c'].map((name) => load(name, sum)))
      const quick = await load('quick', 'plugin:on("ask", function() print("alive") end)')
      for (const { isolate } of busy) isolate.deliverEvent('go', json())
      quick.isolate.deliverEvent('ask', json())
      await quick.recorder.logged('alive')
      assert.ok(busy.every(({ recorder }) => recorder.logs().length === 0))
      const sums = await Promise.all(busy.map(({ recorder }) => recorder.logged('sum')))
      assert.deepEqual(sums, Array(3).fill('info sum\t8999997'))
    },
    oneWorker,
    'shared',
  )
})

test('§6 a plugin is not entered while its callback is set aside: deliveries, timers, controls, calls of neighbours', async () => {
  await withStage(
    async ({ load }) => {
      const busy = await load(
        'busy',
        `local inside = false
        local function whole(name)
          if inside then print("entered twice by " .. name) end
          inside = true for i = 1, 1500000 do end inside = false print(name)
        end
        plugin:on("work", function(n) whole("event " .. n) end)
        plugin:setInterval(20, function() if inside then print("entered twice by a timer") end end)
        plugin:control("level", function() return 1 end, function(v) whole("control " .. v) end)
        function plugin:call() whole("call") return "done" end`,
      )
      const caller = await load('caller', 'plugin:on("go", function() print(Plugin.get("busy"):call()) end)')
      busy.isolate.deliverEvent('work', json(1))
      const set = busy.isolate.setControl('level', 5)
      busy.isolate.deliverEvent('work', json(2))
      caller.isolate.deliverEvent('go', json())
      await caller.recorder.logged('done')
      assert.equal(await set, 1)
      await busy.recorder.logged('event 2')
      const lines = busy.recorder.logs().map((line) => line.slice(5))
      assert.deepEqual([...lines].sort(), ['call', 'control 5', 'event 1', 'event 2'])
      assert.ok(lines.indexOf('event 1') < lines.indexOf('event 2'))
    },
    oneWorker,
    'shared',
  )
})

test('§6 who waits for another plugin keeps nobody, not even when the two call each other in the midst of their work', async () => {
  await withStage(
    async ({ load }) => {
      await load(
        'a',
        `function plugin:deep(n) for i = 1, 300000 do end if n == 0 then return 0 end return 1 + Plugin.get("b"):deep(n - 1) end`,
      )
      await load(
        'b',
        `function plugin:deep(n) for i = 1, 300000 do end if n == 0 then return 0 end return 1 + Plugin.get("a"):deep(n - 1) end
        function plugin:sorted() local t = { 3, 1, 2 } table.sort(t, function(x, y) for i = 1, 100000 do end return x < y end) return t end`,
      )
      const caller = await load(
        'caller',
        `plugin:on("go", function() print("depth", Plugin.get("a"):deep(10)) end)
        plugin:on("spot", function()
          -- Within tostring nothing can be set aside: it waits on the spot, and its neighbours work for it all the same.
          print("spot", tostring(setmetatable({}, { __tostring = function()
            return table.concat({ table.unpack(Plugin.get("b"):sorted()) }, " ") .. Plugin.get("a"):deep(2) end })))
        end)`,
      )
      const quick = await load('quick', 'plugin:on("ask", function() print("alive") end)')
      caller.isolate.deliverEvent('go', json())
      quick.isolate.deliverEvent('ask', json())
      await quick.recorder.logged('alive')
      assert.deepEqual(caller.recorder.logs(), [])
      assert.equal(await caller.recorder.logged('depth'), 'info depth\t10')
      caller.isolate.deliverEvent('spot', json())
      assert.match(await caller.recorder.logged('spot'), /^info spot\t1 2 32$/)
    },
    { ...oneWorker, stretchBeats: 1_000, hangBeats: 1_000 },
    'shared',
  )
})

test('§6 a burst of events in one callback loses none, and the neighbours go on meanwhile', async () => {
  await withStage(
    async ({ load, sandbox }) => {
      const burst = await load(
        'burst',
        'plugin:on("go", function() for n = 1, 20000 do plugin:emit("x", n) end print("sent") end)',
      )
      const quick = await load('quick', 'plugin:on("ask", function() print("alive") end)')
      let sent = 0
      burst.recorder.services.emit = () => void (sent += 1)
      burst.isolate.deliverEvent('go', json())
      quick.isolate.deliverEvent('ask', json())
      await quick.recorder.logged('alive')
      await burst.recorder.logged('sent')
      assert.equal(sent, 20_000)
      assert.equal(burst.recorder.logs().length, 1)
      assert.ok(sandbox.usage().every(({ isolation }) => isolation === 'shared'))
    },
    oneWorker,
    'shared',
  )
})

test('§6 an unload comes after the callback that is under way, and before what waits', async () => {
  await withStage(
    async ({ load }) => {
      const busy = await load(
        'busy',
        `plugin:on("work", function(n) for i = 1, 2000000 do end print("did", n) end)
        plugin:onCleanup(function() for i = 1, 300000 do end print("cleaned up") end)`,
      )
      const quick = await load('quick', 'plugin:on("ask", function() print("alive") end)')
      for (let n = 1; n <= 50; n += 1) busy.isolate.deliverEvent('work', json(n))
      quick.isolate.deliverEvent('ask', json())
      await quick.recorder.logged('alive')
      await busy.isolate.unload()
      const lines = busy.recorder.logs()
      assert.equal(lines.at(-1), 'info cleaned up')
      assert.ok(lines.length < 20, `${lines.length} lines`)
    },
    oneWorker,
    'shared',
  )
})

test('§6 onCleanup has its 5 s in a shared worker, too, and no more beside a neighbour that computes all the while', async () => {
  await withStage(
    async ({ load }) => {
      const long = await load(
        'long',
        'plugin:onCleanup(function() local s = os.clock() while os.clock() - s < 2.2 do end print("saved") end)',
      )
      await long.isolate.unload()
      assert.equal(long.recorder.logs().at(-1), 'info saved')
      const endless = await load('endless', 'plugin:onCleanup(function() while true do end end)')
      const loop = await load('loop', 'plugin:on("loop", function() print("loops") while true do end end)')
      loop.isolate.deliverEvent('loop', json())
      await loop.recorder.logged('loops')
      await endless.isolate.unload()
      assert.match(endless.recorder.logs().at(-1) ?? '', /onCleanup: .*longer than 5 s/)
    },
    { ...oneWorker, cleanupTime: 5_000 },
    'shared',
  )
})

test('§6 an unload does not wait for an endless loop, nor for an answer, whatever the neighbours do', async () => {
  await withStage(
    async ({ load, sandbox }) => {
      const loop = 'plugin:on("loop", function() print("loops") while true do end end)'
      const ending = await load('ending', `${loop} plugin:onCleanup(function() print("cleaned up") end)`)
      const neighbour = await load('neighbour', `${loop} function plugin:never() while true do end end`)
      const caller = await load(
        'caller',
        'plugin:on("go", function() print("calls") Plugin.get("neighbour"):never() end) plugin:onCleanup(function() print("cleaned up") end)',
      )
      neighbour.isolate.deliverEvent('loop', json())
      ending.isolate.deliverEvent('loop', json())
      caller.isolate.deliverEvent('go', json())
      await Promise.all([
        ending.recorder.logged('loops'),
        neighbour.recorder.logged('loops'),
        caller.recorder.logged('calls'),
      ])
      await Promise.all([ending.isolate.unload(), caller.isolate.unload()])
      assert.match(ending.recorder.logs()[1] ?? '', /stopped, because the plugin is being unloaded/)
      assert.match(caller.recorder.logs()[1] ?? '', /no answer, because the plugin is being unloaded/)
      for (const { recorder } of [ending, caller]) assert.equal(recorder.logs().at(-1), 'info cleaned up')
      assert.deepEqual(
        sandbox.usage().map(({ plugin }) => plugin),
        ['@test/neighbour'],
      )
    },
    oneWorker,
    'shared',
  )
})
