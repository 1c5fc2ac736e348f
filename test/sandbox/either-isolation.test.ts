import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noResources } from '../../src/schema/plugin/plugin.ts'
import { withStage } from './plugins-stage.ts'
import { json } from './stage.ts'

/** What a plugin does and is given is the same in a worker of its own and in one that it shares. */

for (const isolation of ['dedicated', 'shared'] as const) {
  test(`§6 ${isolation}: plugins have a Lua state, a log and resources each, and end alone`, async () => {
    await withStage(
      async ({ load, sandbox }) => {
        const lua = (name: string): string => `
          shared = (shared or "") .. "${name}"
          plugin:setInterval(60000, function() end)
          plugin:on("go", function(data) print(shared, data.n) error("of ${name}") end)
          plugin:upsertObject("now", { name = shared })
          plugin:onCleanup(function() print("bye from ${name}") end)
        `
        const a = await load('a', lua('a'))
        const b = await load('b', lua('b'))
        const used = sandbox.usage()
        assert.deepEqual(
          used.map(({ plugin, isolation: kind }) => [plugin, kind]),
          [
            ['@test/a', isolation],
            ['@test/b', isolation],
          ],
        )
        assert.equal(used[0]?.worker === used[1]?.worker, isolation === 'shared')
        for (const [index, { isolate, recorder }] of [a, b].entries()) {
          isolate.deliverEvent('go', json({ n: index }))
          await recorder.logged('error listener')
          assert.deepEqual(recorder.named('setObject'), [['now', { name: 'ab'[index] }]])
          await recorder.until(() => (isolate.resources().timers === 1 ? true : undefined))
        }
        await a.isolate.unload()
        assert.deepEqual(a.isolate.resources(), noResources)
        assert.deepEqual(a.recorder.calls.slice(-2), [
          ['unsubscribeEvent', 'go'],
          ['setObject', 'now', undefined],
        ])
        b.isolate.deliverEvent('go', json({ n: 7 }))
        await b.recorder.logged('b\t7')
        await b.isolate.unload()
        assert.deepEqual(
          [a, b].map(({ recorder }) => recorder.logs().map((line) => line.split('\n')[0])),
          ['a', 'b'].map((name, index) => [
            `info ${name}\t${index}`,
            `error listener of 'go': init.lua:4: of ${name}`,
            ...(name === 'b' ? ['info b\t7', "error listener of 'go': init.lua:4: of b"] : []),
            `info bye from ${name}`,
          ]),
        )
        assert.deepEqual(sandbox.usage(), [])
      },
      {},
      isolation,
    )
  })

  test(`§6 ${isolation}: a load that fails leaves nothing, and its neighbour runs`, async () => {
    await withStage(
      async ({ load, sandbox }) => {
        const good = await load('good', 'plugin:on("go", function() print("alive") end)')
        await assert.rejects(load('bad', 'plugin:mqttSubscribe("a", print) error("on purpose")'), {
          code: 'lua_error',
        })
        await assert.rejects(load('syntax', 'local = 1'), { code: 'lua_error' })
        good.isolate.deliverEvent('go', json())
        await good.recorder.logged('alive')
        assert.deepEqual(
          sandbox.usage().map(({ plugin }) => plugin),
          ['@test/good'],
        )
      },
      {},
      isolation,
    )
  })

  test(`§6 ${isolation}: a control is set, a plugin calls another, and nobody is called after his end`, async () => {
    await withStage(
      async ({ load, sandbox }) => {
        const lamp = await load(
          'lamp',
          `
            local level = 1
            plugin:control("level", function() return level end, function(value) level = value end)
            function plugin:double(f) return f(level * 2) end
          `,
        )
        assert.equal(await lamp.isolate.setControl('level', 21), 21)
        const caller = await load(
          'caller',
          `
            local lamp = Plugin.get("lamp")
            print(lamp:double(function(value) return "got " .. value end))
            plugin:on("go", function() print(pcall(function() return lamp:double(print) end)) end)
          `,
        )
        assert.deepEqual(caller.recorder.logs(), ['info got 42'])
        await lamp.isolate.unload()
        caller.isolate.deliverEvent('go', json())
        assert.match(await caller.recorder.logged('false'), /plugin not running: @test\/lamp$/)
        await caller.isolate.unload()
        assert.equal(sandbox.references, 0)
      },
      {},
      isolation,
    )
  })

  test(`§6 ${isolation}: an endless loop ends, and a neighbour's timer goes on`, async () => {
    await withStage(
      async ({ load }) => {
        const steady = await load(
          'steady',
          'local n = 0 plugin:setInterval(20, function() n = n + 1 if n % 50 == 0 then print("tick", n) end end)',
        )
        const { recorder } = await load(
          'loop',
          'plugin:on("go", function() while true do pcall(function() while true do end end) end end)',
        ).then((plugin) => {
          plugin.isolate.deliverEvent('go', json())
          return plugin
        })
        assert.match(await recorder.logged('error listener'), /init\.lua:1: stopped, because/)
        await steady.recorder.logged('tick\t50')
      },
      { callbackTime: 1_000 },
      isolation,
    )
  })
}
