import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IsolateError } from '../../src/sandbox/isolate.ts'
import { noResources } from '../../src/schema/plugin.ts'
import { withStage } from './plugins-stage.ts'

/** Hostile and busy plugins in workers that they share. */

test('§6 two hundred plugins come and go in one worker, and it stays as large as it was', async (context) => {
  await withStage(
    async ({ load, sandbox }) => {
      const steady = await load('steady', 'plugin:on("go", function() print("alive") end)')
      const memory = (): number => sandbox.usage()[0]?.memory ?? 0
      const sizes: number[] = []
      let seen = 0
      for (let cycle = 0; cycle < 200; cycle += 1) {
        const { isolate } = await load(
          'guest',
          `
            local kept = {} for i = 1, 5000 do kept[i] = { i, tostring(i) } end
            plugin:setInterval(60000, function() return kept end)
            plugin:on("x", function() return kept end)
            function plugin:share() return kept, function() return kept end end
          `,
        )
        assert.equal(isolate.usage().worker, steady.isolate.usage().worker)
        await isolate.unload()
        assert.deepEqual(isolate.resources(), noResources)
        const now = memory()
        if (now !== seen && now > 0) sizes.push(now)
        seen = now
      }
      // A worker says how large it is with each heartbeat; garbage is in it too, so the smallest ones count.
      const quarter = Math.max(1, Math.floor(sizes.length / 4))
      const early = Math.min(...sizes.slice(quarter, 2 * quarter))
      const late = Math.min(...sizes.slice(-quarter))
      context.diagnostic(
        `ratio of late to early memory: ${(late / early).toFixed(2)} (${sizes.length} looks)`,
      )
      assert.ok(late < early * 1.5, `${early} bytes became ${late}`)
      assert.equal(sandbox.references, 0)
      steady.isolate.deliverEvent('go', undefined)
      await steady.recorder.logged('alive')
    },
    // Where the processor is short a load may take longer than a shared worker allows; that is not the subject.
    { heartbeatInterval: 50, unresponsiveAfter: 30_000, beatInterval: 1_000 },
    'shared',
  )
})

test('§6 a hundred and twenty plugins run in few workers, and all do their work', async () => {
  await withStage(
    async ({ load, sandbox }) => {
      const names = Array.from({ length: 120 }, (_, index) => `p${index}`)
      const plugins = await Promise.all(
        names.map((name) => load(name, `plugin:on("go", function(n) print("${name}", n) end)`)),
      )
      for (const { isolate } of plugins) isolate.deliverEvent('go', 5)
      await Promise.all(plugins.map(({ recorder }, index) => recorder.logged(`p${index}\t5`)))
      const held = new Map<number, number>()
      for (const { worker, isolation } of sandbox.usage())
        if (isolation === 'shared') held.set(worker, (held.get(worker) ?? 0) + 1)
      assert.ok(held.size <= 6, `${held.size} workers`)
      assert.ok([...held.values()].every((count) => count <= 20))
    },
    { beatInterval: 1_000 },
    'shared',
  )
})

test('§6 plugins in different shared workers call each other', async () => {
  await withStage(
    async ({ load, sandbox }) => {
      await load('a', 'function plugin:twice(n) return 2 * n end')
      const b = await load('b', 'print(Plugin.get("a"):twice(21))')
      assert.deepEqual(b.recorder.logs(), ['info 42'])
      const [first, second] = sandbox.usage()
      assert.notEqual(first?.worker, second?.worker)
    },
    { isolatesPerWorker: 1, beatInterval: 1_000 },
    'shared',
  )
})

test('§6 a plugin behind with its deliveries leaves its neighbours their turns', async () => {
  await withStage(
    async ({ load }) => {
      const busy = await load(
        'busy',
        'plugin:on("work", function(n) local t = os.clock() while os.clock() - t < 0.005 do end print("did", n) end)',
      )
      const quick = await load('quick', 'plugin:on("ask", function(n) print("answer", n) end)')
      for (let n = 0; n < 400; n += 1) busy.isolate.deliverEvent('work', n)
      // There are two seconds of work before it, in slices of 10 ms.
      quick.isolate.deliverEvent('ask', 1)
      await quick.recorder.logged('answer\t1')
      assert.ok(!busy.recorder.logs().includes('info did\t399'))
    },
    {},
    'shared',
  )
})

test('§6 a plugin that floods a shared worker gets one of its own; another version of it starts anew', async () => {
  await withStage(
    async ({ load }) => {
      const steady = await load('steady', 'plugin:on("go", function() print("alive") end)')
      const flood = await load(
        'flood',
        'plugin:setTimeout(1, function() while true do plugin:emit("x", ("y"):rep(10000)) end end)',
      )
      assert.equal(await flood.isolate.ended, undefined)
      assert.ok(flood.recorder.logs().some((line) => /^warn it takes too much (time|memory)/.test(line)))
      steady.isolate.deliverEvent('go', undefined)
      await steady.recorder.logged('alive')
      const again = await load('flood', 'print("again")')
      assert.equal(again.isolate.usage().isolation, 'dedicated')
      const newer = await load('flood', 'print("newer")', { version: '2.0.0' })
      assert.equal(newer.isolate.usage().isolation, 'shared')
    },
    {},
    'shared',
  )
})

test('§6 when a worker runs out of memory its neighbours are told that it was not they', async () => {
  await withStage(
    async ({ load }) => {
      const steady = await load('steady', '')
      const bomb = await load(
        'bomb',
        `plugin:setTimeout(1, function()
          local list = {} while true do list[#list + 1] = { #list } end
        end)`,
      )
      const [culprit, neighbour] = await Promise.all([bomb.isolate.ended, steady.isolate.ended])
      assert.ok(culprit instanceof IsolateError && neighbour instanceof IsolateError)
      assert.equal(culprit.code, 'out_of_memory')
      assert.equal(neighbour.code, 'neighbour_ended')
      assert.equal(neighbour.message, 'the worker that it shared with @test/bomb ended: out_of_memory')
    },
    // Nothing else stops it before.
    {
      sharedHeapMegabytes: 32,
      sharedMemoryShare: 10,
      stretchBeats: 100_000,
      windowBeats: 100_000,
      hangBeats: 100_000,
      luaCallback: 60_000,
    },
    'shared',
  )
})

test('§6 plugins that share a worker take a fraction of the memory', async (context) => {
  const bytes: Record<'dedicated' | 'shared', number> = { dedicated: 0, shared: 0 }
  for (const isolation of ['dedicated', 'shared'] as const) {
    await withStage(
      async ({ load, sandbox }) => {
        const ticking = 'plugin:setInterval(60000, function() end) plugin:upsertObject("now", { value = 1 })'
        const { recorder } = await load('p0', ticking)
        for (let index = 1; index < 10; index += 1) await load(`p${index}`, ticking)
        const byWorker = await recorder.until(() => {
          const used = sandbox.usage()
          if (used.some(({ memory }) => memory === null)) return undefined
          return new Map(used.map(({ worker, memory }) => [worker, memory ?? 0]))
        })
        for (const memory of byWorker.values()) bytes[isolation] += memory
      },
      {
        heartbeatInterval: 100,
        unresponsiveAfter: 30_000,
        beatInterval: 1_000,
        isolatesBeforeNextWorker: 20,
      },
      isolation,
    )
  }
  const ratio = bytes.dedicated / bytes.shared
  context.diagnostic(`ten plugins with a worker each take ${ratio.toFixed(1)} times as much as in one`)
  assert.ok(ratio > 2, `${ratio} times as much`)
})
