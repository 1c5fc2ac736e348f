import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withStage } from '../plugins-stage.ts'
import { json } from '../stage.ts'

/** Plugins that call each other where the host need not hear of it: in one worker, and on a link to another one. */

for (const [where, isolation] of [
  ['within a worker', 'shared'],
  ['to another worker', 'dedicated'],
] as const) {
  test(`§9 what is done before, in and after a call ${where} has happened in this order`, async () => {
    await withStage(
      async ({ load }) => {
        const order: unknown[] = []
        const callee = await load(
          'callee',
          'function plugin:note(n) if n % 3 ~= 0 then plugin:emit("in", n) end return n end',
        )
        const caller = await load(
          'caller',
          `
            local callee = Plugin.get("@test/callee")
            plugin:on("go", function()
              for n = 1, 60 do
                if n % 2 == 0 then plugin:emit("before", n) end
                assert(callee:note(n) == n)
                plugin:emit("after", n)
              end
            end)`,
        )
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
      isolation,
    )
  })

  test(`§9 what calls ${where} answer with is counted, used and given back; a failure and an end are told`, async () => {
    await withStage(
      async ({ load, sandbox }) => {
        const callee = await load(
          'callee',
          `
            function plugin:value() return 21 end
            function plugin:counter() local n = 0 return { step = function() n = n + 1 return n end } end
            function plugin:fail() error("no such lamp") end
            function plugin:wait() print("waiting") while plugin:getObject("plugins.test.gate.open") == nil do end end`,
        )
        const caller = await load(
          'caller',
          `
            local callee = Plugin.get("@test/callee")
            plugin:on("go", function()
              for n = 1, 5 do callee:value() end
              local one, other = callee:counter(), callee:counter()
              one.step() one.step()
              print("steps", one.step(), other.step(), one == callee, Plugin.get("@test/callee") == callee)
              print("fail", pcall(function() callee:fail() end))
              print("wait", pcall(function() callee:wait() end))
              print("then", pcall(function() callee:value() end))
            end)`,
        )
        caller.isolate.deliverEvent('go', json())
        assert.equal(await caller.recorder.logged('steps'), 'info steps\t3\t1\tfalse\ttrue')
        assert.ok(sandbox.references > 0)
        assert.match(
          await caller.recorder.logged('fail'),
          /false\tinit.lua:8: @test\/callee: init.lua:4: no such lamp$/,
        )
        await callee.recorder.logged('waiting')
        await callee.isolate.unload()
        for (const name of ['wait', 'then'])
          assert.match(
            await caller.recorder.logged(`${name}\t`),
            /false\t.*plugin not running: @test\/callee$/,
          )
        await caller.isolate.unload()
        assert.equal(sandbox.references, 0)
      },
      // It does not come to its end by itself.
      { unloadDeadline: 200 },
      isolation,
    )
  })
}
