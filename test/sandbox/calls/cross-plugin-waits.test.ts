import assert from 'node:assert/strict'
import { test } from 'node:test'
import { patient, withStage } from '../plugins-stage.ts'
import { json, needsOwnWorker } from '../stage.ts'

test('§9 two plugins call each other, also from within a call', async () => {
  await withStage(async ({ load }) => {
    const a = await load(
      'a',
      `
        function plugin:down(n, path)
          if n == 0 then return path .. "a" end
          return Plugin.get("b"):down(n - 1, path .. "a")
        end
      `,
    )
    await load(
      'b',
      `
        function plugin:down(n, path)
          if n == 0 then return path .. "b" end
          return Plugin.get("a"):down(n - 1, path .. "b")
        end
      `,
    )
    const c = await load('c', `plugin:on("go", function() print(Plugin.get("a"):down(9, "")) end)`)
    c.isolate.deliverEvent('go', json())
    assert.equal(await c.recorder.logged('ab'), 'info ababababab')
    assert.deepEqual(a.recorder.logs(), [])
  })
})

test('§9 two plugins that call each other at the same time both get their answer', async () => {
  await withStage(async ({ load }) => {
    const lua = (other: string): string => `
      function plugin:answer(n) return n + 1 end
      plugin:on("go", function()
        local sum = 0
        for n = 1, 100 do sum = sum + Plugin.get("${other}"):answer(n) end
        print("sum", sum)
      end)
    `
    const a = await load('a', lua('b'))
    const b = await load('b', lua('a'))
    a.isolate.deliverEvent('go', json())
    b.isolate.deliverEvent('go', json())
    await Promise.all([a.recorder.logged('sum\t5150'), b.recorder.logged('sum\t5150')])
    assert.deepEqual([...a.recorder.logs(), ...b.recorder.logs()], ['info sum\t5150', 'info sum\t5150'])
  }, patient)
})

test('§9 calls go on in a chain over three plugins and back to one that waits', async () => {
  await withStage(async ({ load }) => {
    await load('c', `function plugin:ask(f) return "c(" .. f() .. ")" end`)
    await load(
      'b',
      `function plugin:ask(f) return "b(" .. Plugin.get("a"):name() .. Plugin.get("c"):ask(f) .. ")" end`,
    )
    const a = await load(
      'a',
      `
        function plugin:name() return "a" end
        plugin:on("go", function() print(Plugin.get("b"):ask(function() return "callback" end)) end)
      `,
    )
    a.isolate.deliverEvent('go', json())
    assert.equal(await a.recorder.logged('b('), 'info b(ac(callback))')
  })
})

test('§9 an endless recursion over two plugins is a Lua error, and both go on', async () => {
  await withStage(async ({ load }) => {
    await load(
      'a',
      `function plugin:ping(n) deepest = n return Plugin.get("b"):ping(n + 1) end function plugin:depth() return deepest end`,
    )
    await load('b', `function plugin:ping(n) return Plugin.get("a"):ping(n + 1) end`)
    const { recorder } = await load(
      'c',
      `
        local ok, message = pcall(function() return Plugin.get("a"):ping(1) end)
        print(ok, message:match("calls between plugins are nested more than 32 deep"))
        print(Plugin.get("a"):depth())
      `,
    )
    assert.deepEqual(recorder.logs(), [
      'info false\tcalls between plugins are nested more than 32 deep',
      'info 31',
    ])
  })
})

test('§9 a call takes as long as allowed at most; one that has not begun by then is not made', async () => {
  await withStage(
    async ({ load }) => {
      const slow = await load(
        'slow',
        `
          local marks = 0
          local function busy(seconds) local t = os.clock() while os.clock() - t < seconds do end end
          function plugin:work() busy(2) return "done" end
          function plugin:mark() marks = marks + 1 return marks end
          plugin:on("busy", function() 
            -- Once this has been answered it serves nobody until it is over.
            plugin:getObject("plugins.test.none.none")
            busy(6)
            print("over")
           end)
        `,
      )
      const { recorder, isolate } = await load(
        'caller',
        `
          local slow = Plugin.get("slow")
          local mark = slow.mark
          print(pcall(function() return slow:work() end))
          plugin:on("go", function() print(pcall(mark, slow)) print("marks") end)
          plugin:on("end", function() print("marks", slow:mark()) end)
        `,
      )
      assert.deepEqual(recorder.logs(), ['info false\tinit.lua:4: @test/slow did not answer within 1 s'])
      const begun = new Promise<void>((resolve) => {
        slow.recorder.services.lookUpObject = () => {
          resolve()
          return undefined
        }
      })
      slow.isolate.deliverEvent('busy', json())
      await begun
      isolate.deliverEvent('go', json())
      await recorder.logged('info marks')
      assert.equal(recorder.logs()[1], 'info false\t@test/slow did not answer within 1 s')
      await slow.recorder.logged('over')
      isolate.deliverEvent('end', json())
      assert.equal(await recorder.logged('marks\t'), 'info marks\t1')
    },
    // Busy for far longer than the deadline of the call: it must still be so when the call comes.
    { callDeadline: 1_000, callbackTime: 20_000, unresponsiveAfter: 30_000 },
  )
})

test('§9 after the callee unloaded, an old reference raises `plugin not running`; Plugin.get gives the new instance', async () => {
  await withStage(async ({ load, sandbox }) => {
    const lua = (version: number): string => `
      function plugin:version() return ${version} end
      function plugin:object() return { read = function() return ${version} end } end
    `
    const first = await load('callee', lua(1))
    const { recorder, isolate } = await load(
      'caller',
      `
        local old = Plugin.get("callee")
        local object = old:object()
        local read = object.read
        print(old:version(), object.read(), read())
        plugin:on("go", function()
          for _, call in ipairs{ function() return old:version() end, function() return old.field end,
            function() object.x = 1 end, function() return #object end, function() for _ in pairs(object) do end end, read } do
            print(pcall(call))
          end
          print(tostring(old), old == old, old == object)
          local new = Plugin.get("callee")
          print(new and new:version(), new == old)
        end)
      `,
    )
    await first.isolate.unload()
    isolate.deliverEvent('go', json())
    await recorder.logged('nil\tfalse')
    const lines = [
      ...Array.from({ length: 6 }, () => 'info false\tplugin not running: @test/callee'),
      'info object of @test/callee, which does not answer\ttrue\tfalse',
    ]
    const logs = (): string[] => recorder.logs().map((line) => line.replace(/init\.lua:\d+: /, ''))
    assert.deepEqual(logs(), ['info 1\t1\t1', ...lines, 'info nil\tfalse'])
    assert.equal(sandbox.references, 0)

    await load('callee', lua(2))
    isolate.deliverEvent('go', json())
    await recorder.logged('2\tfalse')
    assert.deepEqual(logs().slice(9), [...lines, 'info 2\tfalse'])
  })
})

test(
  '§9 a callee that dies during the call is a Lua error at once',
  needsOwnWorker('a shared worker has a heap of its own size'),
  async () => {
    await withStage(
      async ({ load }) => {
        const callee = await load(
          'callee',
          `
          function plugin:bomb()
            local list = {}
            while true do list[#list + 1] = { #list } end
          end
        `,
        )
        const { recorder, isolate } = await load(
          'caller',
          `plugin:on("go", function() local begun = os.time() print(pcall(function() return Plugin.get("callee"):bomb() end)) print("after") end)`,
        )
        isolate.deliverEvent('go', json())
        await recorder.logged('after')
        assert.equal((await callee.isolate.ended)?.code, 'neighbour_ended')
        assert.deepEqual(recorder.logs(), [
          'info false\tinit.lua:1: plugin not running: @test/callee',
          'info after',
        ])
      },
      { memory: 24, callbackTime: 20_000, callDeadline: 20_000 },
    )
  },
)

test('§9 a callee that unloads while a call waits for it is a Lua error at once', async () => {
  await withStage(async ({ load }) => {
    const callee = await load(
      'callee',
      `
        function plugin:hold(wait) return wait() end
        function plugin:quick() return 1 end
        plugin:onCleanup(function() Plugin.get("helper"):hold(function() return "kept" end) end)
      `,
    )
    const helper = await load(
      'helper',
      `
      function plugin:hold(f) print("holding") return f() end
    `,
    )
    const { recorder, isolate } = await load(
      'caller',
      `
        local quick, callee = Plugin.get("callee").quick, Plugin.get("callee")
        plugin:on("go", function() while true do local ok, message = pcall(quick, callee) if not ok then print(message) return end end end)
      `,
    )
    isolate.deliverEvent('go', json())
    await callee.isolate.unload()
    await helper.recorder.logged('holding')
    assert.equal(await recorder.logged('running'), 'info plugin not running: @test/callee')
    assert.deepEqual(
      callee.recorder.logs().filter((line) => line.startsWith('error')),
      [],
    )
  })
})

test(
  '§9 a caller that dies or unloads during its call leaves the callee as it was',
  needsOwnWorker('a shared worker has a heap of its own size'),
  async () => {
    await withStage(
      async ({ load, sandbox }) => {
        const callee = await load(
          'callee',
          `
          local busy = function(seconds) local t = os.clock() while os.clock() - t < seconds do end end
          function plugin:work(f) print("working") busy(0.6) print(pcall(f)) return { f = f } end
        `,
        )
        const { isolate, recorder } = await load(
          'caller',
          `plugin:on("go", function() Plugin.get("callee"):work(function() local list = {} while true do list[#list + 1] = { #list } end end) end)`,
        )
        isolate.deliverEvent('go', json())
        assert.equal((await isolate.ended)?.code, 'out_of_memory')
        assert.equal(await callee.recorder.logged('running'), 'info false\tplugin not running: @test/caller')
        assert.deepEqual(recorder.logs(), ['warn limit reached: memory is 24 MB'])
        const next = await load('next', `print(Plugin.get("callee"):work(function() return "fine" end).f())`)
        assert.deepEqual(next.recorder.logs(), ['info fine'])
        await next.isolate.unload()
        await callee.isolate.unload()
        assert.equal(sandbox.references, 0)
      },
      { memory: 24, callbackTime: 20_000, callDeadline: 20_000 },
    )
  },
)

test('§9 a wait is not a hang: neither the watchdog nor the limit of a callback counts it', async () => {
  await withStage(
    async ({ load }) => {
      await load(
        'slow',
        `function plugin:work() local t = os.clock() while os.clock() - t < 0.6 do end return 1 end`,
      )
      const { recorder, isolate } = await load(
        'caller',
        `
          plugin:on("go", function()
            local slow, sum = Plugin.get("slow"), 0
            for _ = 1, 5 do sum = sum + slow:work() end
            print("sum", sum)
          end)
        `,
      )
      isolate.deliverEvent('go', json())
      assert.equal(await recorder.logged('sum'), 'info sum\t5')
    },
    // Less than all calls together take, and several times as much as one.
    { heartbeatInterval: 100, unresponsiveAfter: 2_800, callbackTime: 2_800 },
  )
})

test(
  '§9 a call that is stopped for its time does not stop the caller that waits and is called back',
  needsOwnWorker('the limit of a callback is that of a worker of its own'),
  async () => {
    await withStage(
      async ({ load }) => {
        const a = await load(
          'a',
          `
          function plugin:loop() while true do end end
          plugin:on("go", function()
            local ok, message = Plugin.get("b"):relay()
            print(ok, message:match("stopped, because it ran for longer than 1 s"))
            local sum = 0 for i = 1, 100000 do sum = sum + i end
            print("sum", sum)
          end)
        `,
        )
        await load('b', `function plugin:relay() return pcall(function() Plugin.get("a"):loop() end) end`)
        a.isolate.deliverEvent('go', json())
        await a.recorder.logged('sum')
        assert.deepEqual(
          a.recorder.logs().filter((line) => line.startsWith('info')),
          ['info false\tstopped, because it ran for longer than 1 s', 'info sum\t5000050000'],
        )
      },
      { callbackTime: 1_000 },
    )
  },
)
