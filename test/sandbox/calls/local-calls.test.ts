import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withStage } from '../plugins-stage.ts'
import { json } from '../stage.ts'

/** Plugins of one worker that call each other, where the host need not hear of it. */

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
    { callbackTime: 800 },
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
