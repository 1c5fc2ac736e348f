import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withStage } from '../plugins-stage.ts'
import { json } from '../stage.ts'

/** Plugins of one worker that call each other, where the host need not hear of it. */

test('§9 what is done before, in and after a call within a worker has happened in this order', async () => {
  await withStage(
    async ({ load }) => {
      const order: unknown[] = []
      const lua = {
        callee: 'function plugin:note(n) if n % 3 ~= 0 then plugin:emit("in", n) end return n end',
        caller: `
          local callee = Plugin.get("@test/callee")
          plugin:on("go", function()
            for n = 1, 60 do
              if n % 2 == 0 then plugin:emit("before", n) end
              assert(callee:note(n) == n)
              plugin:emit("after", n)
            end
          end)`,
      }
      const callee = await load('callee', lua.callee)
      const caller = await load('caller', lua.caller)
      for (const { recorder } of [callee, caller])
        recorder.services.emit = (name, data) => void order.push([name, data.value()])
      caller.isolate.deliverEvent('go', json())
      const expected = Array.from({ length: 60 }, (_, index) => index + 1).flatMap((n) => [
        ...(n % 2 === 0 ? [['before', n]] : []),
        ...(n % 3 === 0 ? [] : [['in', n]]),
        ['after', n],
      ])
      await caller.recorder.until(() => order.length >= expected.length || undefined)
      assert.deepEqual(order, expected)
    },
    {},
    'shared',
  )
})

test('§9 what a call within a worker answers with is counted, used and given back', async () => {
  await withStage(
    async ({ load, sandbox }) => {
      const callee = await load(
        'callee',
        'function plugin:counter() local n = 0 return { step = function() n = n + 1 return n end } end',
      )
      const caller = await load(
        'caller',
        `
          local callee = Plugin.get("@test/callee")
          plugin:on("go", function()
            local one, other = callee:counter(), callee:counter()
            one.step() one.step()
            print("steps", one.step(), other.step(), one == callee, Plugin.get("@test/callee") == callee)
          end)`,
      )
      caller.isolate.deliverEvent('go', json())
      assert.equal(await caller.recorder.logged('steps'), 'info steps\t3\t1\tfalse\ttrue')
      assert.ok(sandbox.references > 0)
      await caller.isolate.unload()
      await callee.isolate.unload()
      assert.equal(sandbox.references, 0)
    },
    {},
    'shared',
  )
})

test('§9 a call within a worker ends with an error when its callee fails or ends', async () => {
  await withStage(
    async ({ load }) => {
      const callee = await load(
        'callee',
        `
          function plugin:fail() error("no such lamp") end
          function plugin:wait() print("waiting") while plugin:getObject("plugins.test.gate.open") == nil do end end`,
      )
      const caller = await load(
        'caller',
        `
          local callee = Plugin.get("@test/callee")
          plugin:on("go", function(name) print(name, pcall(function() return callee[name](callee) end)) end)`,
      )
      const answer = async (name: string): Promise<string> => {
        caller.isolate.deliverEvent('go', json(name))
        return caller.recorder.logged(`${name}\t`)
      }
      assert.match(
        await answer('fail'),
        /^info fail\tfalse\tinit.lua:3: @test\/callee: init.lua:2: no such lamp$/,
      )
      caller.isolate.deliverEvent('go', json('wait'))
      await callee.recorder.logged('waiting')
      await callee.isolate.unload()
      assert.match(await caller.recorder.logged('wait\t'), /plugin not running: @test\/callee$/)
    },
    {},
    'shared',
  )
})

test('§9 who calls within a worker does not pay for the time of its callee, and the neighbours have their turns', async () => {
  await withStage(
    async ({ load }) => {
      await load(
        'callee',
        'function plugin:work() local begun = os.clock() while os.clock() - begun < 0.003 do end return "done" end',
      )
      const caller = await load(
        'caller',
        `
          local callee = Plugin.get("@test/callee")
          plugin:on("go", function()
            local done = 0
            for n = 1, 600 do if callee:work() == "done" then done = done + 1 end end
            print("in all", done)
          end)`,
      )
      const neighbour = await load('neighbour', 'plugin:setInterval(5, function() print("tick") end)')
      caller.isolate.deliverEvent('go', json())
      // Two seconds in all, of which next to nothing is the caller's own.
      assert.equal(await caller.recorder.logged('in all'), 'info in all\t600')
      const ticks = neighbour.recorder.logs().length
      assert.ok(ticks >= 50, `${ticks} ticks`)
    },
    { luaCallback: 800 },
    'shared',
  )
})

test('§9 a call within a worker is the same however much of its caller is on the stack', async () => {
  await withStage(
    async ({ load }) => {
      await load(
        'callee',
        `
          function plugin:again(n, back) if n == 0 then return "end" end return back(n - 1) end
          function plugin:value() return 21 end`,
      )
      const caller = await load(
        'caller',
        `
          local callee = Plugin.get("@test/callee")
          local function nested(depth)
            if depth == 0 then return callee:value() end
            local _, value = pcall(nested, depth - 1)
            return value
          end
          local function back(n) return callee:again(n, back) end
          local sorted
          plugin:on("go", function()
            table.sort({ 2, 1 }, function(a, b) sorted = callee:value() return a < b end)
            print("got", nested(0), nested(5), nested(40), back(6), sorted)
            print("within", coroutine.wrap(function() return callee:value() end)())
          end)`,
      )
      caller.isolate.deliverEvent('go', json())
      assert.equal(await caller.recorder.logged('got'), 'info got\t21\t21\t21\tend\t21')
      assert.equal(await caller.recorder.logged('within'), 'info within\t21')
    },
    {},
    'shared',
  )
})
