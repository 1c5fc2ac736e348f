import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Stage, type StagedPlugin, withStage } from '../plugins-stage.ts'
import { json } from '../stage.ts'

/** Lua that fills some memory and lets go of it, so that its worker collects what nobody has any more. */
const litter = 'local list = {} for i = 1, 20000 do list[i] = { i } end'
/** Rounds after which a worker has collected many times over. */
const mostRounds = 100

/** Has plugins fill memory until the number of references is at most this. */
async function collectUntil({ sandbox }: Stage, most: number, plugins: StagedPlugin[]): Promise<void> {
  for (let round = 1; sandbox.references > most; round += 1) {
    assert.ok(round <= mostRounds, `${sandbox.references} references are left`)
    for (const { isolate, recorder } of plugins) {
      isolate.deliverEvent('litter', json())
      await recorder.until(
        () => recorder.logs().filter((line) => line === 'info littered').length >= round || undefined,
      )
    }
  }
}

test('§9 what was handed over is let go when nobody holds it: 10,000 calls leave no handles behind', async () => {
  await withStage(async (stage) => {
    const { load, sandbox } = stage
    const callee = await load(
      'callee',
      `
        local Object = {} Object.__index = Object
        function Object:value(f) return f(self.n) end
        function plugin:make(n) return setmetatable({ n = n }, Object) end
        plugin:on("litter", function() ${litter} print("littered") end)
      `,
    )
    const caller = await load(
      'caller',
      `
        local callee = Plugin.get("callee")
        local make, n = callee.make, 0
        plugin:on("work", function()
          for _ = 1, 125 do
            n = n + 1
            make(callee, n):value(function(m) assert(m == n) end)
          end
          print("made", n)
        end)
        plugin:on("litter", function() ${litter} print("littered") end)
      `,
    )
    for (let round = 1; round <= 40; round += 1) {
      caller.isolate.deliverEvent('work', json())
      await caller.recorder.logged(`made\t${round * 125}`)
    }
    // The instance and one method of it are still held.
    await collectUntil(stage, 2, [callee, caller])
    assert.equal(sandbox.references, 2)
    assert.deepEqual(
      caller.recorder.logs().filter((line) => line.startsWith('error')),
      [],
    )
  })
})

test('§9 what is held stays, however often it was sent and given back', async () => {
  await withStage(async (stage) => {
    await stage.load(
      'callee',
      `
        local object = { count = 0 }
        function object.add() object.count = object.count + 1 return object.count end
        function plugin:object() return object end
      `,
    )
    const { recorder, isolate } = await stage.load(
      'caller',
      `
        local callee = Plugin.get("callee")
        local kept = callee:object()
        plugin:on("work", function()
          for _ = 1, 50 do assert(callee:object() == kept) end
          ${litter}
          print("count", kept.add())
        end)
      `,
    )
    for (let round = 1; round <= 20; round += 1) {
      isolate.deliverEvent('work', json())
      await recorder.logged(`count\t${round}`)
    }
    assert.equal(stage.sandbox.references <= 4, true)
  })
})

test('§9 the end of either side lets go of everything between the two, and of nothing else', async () => {
  await withStage(async ({ load, sandbox }) => {
    const lua = `
      function plugin:keep(...) kept = kept or {} for _, value in ipairs{ ... } do kept[#kept + 1] = value end return function() return #kept end end
    `
    const a = await load('a', lua)
    const b = await load('b', lua)
    assert.equal(sandbox.references, 0)
    const c = await load(
      'c',
      `
        local a, b = Plugin.get("a"), Plugin.get("b")
        local count = a:keep(function() end, setmetatable({}, {}), b)
        kept = { a, b, count, b:keep(a, count) }
        print(count())
      `,
    )
    assert.deepEqual(c.recorder.logs(), ['info 3'])
    assert.ok(sandbox.references >= 6)
    await c.isolate.unload()
    // What c handed from a to b and from b to a is still there; what was c's own is not.
    assert.equal(sandbox.references, 3)
    await a.isolate.unload()
    assert.equal(sandbox.references, 0)
    await b.isolate.unload()
    assert.equal(sandbox.references, 0)
  })
})

test('§9 an object goes on from hand to hand, and still belongs to the plugin that made it', async () => {
  await withStage(async ({ load }) => {
    const maker = await load(
      'maker',
      `
        local lamp = { on = false }
        function lamp:switch(on) self.on = on return self end
        function plugin:lamp() return lamp end
        function plugin:isLamp(other) return other == lamp end
      `,
    )
    const shop = await load('shop', `function plugin:lamp() return Plugin.get("maker"):lamp() end`)
    const { recorder, isolate } = await load(
      'caller',
      `
        lamp = Plugin.get("shop"):lamp()
        print(lamp == Plugin.get("maker"):lamp(), Plugin.get("maker"):isLamp(lamp), lamp:switch(true).on)
        plugin:on("again", function() print(pcall(function() return lamp:switch(false).on end)) end)
      `,
    )
    assert.deepEqual(recorder.logs(), ['info true\ttrue\ttrue'])
    await shop.isolate.unload()
    isolate.deliverEvent('again', json())
    await recorder.logged('true\tfalse')
    await maker.isolate.unload()
    isolate.deliverEvent('again', json())
    assert.match(await recorder.logged('not running'), /plugin not running: @test\/maker$/)
  })
})
