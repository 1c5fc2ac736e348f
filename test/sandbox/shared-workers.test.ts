import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Clock, systemClock } from '../../src/base/time/clock.ts'
import { IsolateError } from '../../src/sandbox/isolate.ts'
import { unstoppable } from '../helpers/unstoppable.ts'
import { withStage } from './plugins-stage.ts'
import { json } from './stage.ts'

/** Hostile and busy plugins in workers that they share. */

test('§6 a hundred and twenty plugins run in few workers, and all do their work', async () => {
  await withStage(
    async ({ load, sandbox }) => {
      const names = Array.from({ length: 120 }, (_, index) => `p${index}`)
      const plugins = await Promise.all(
        names.map((name) => load(name, `plugin:on("go", function(n) print("${name}", n) end)`)),
      )
      for (const { isolate } of plugins) isolate.deliverEvent('go', json(5))
      await Promise.all(plugins.map(({ recorder }, index) => recorder.logged(`p${index}\t5`)))
      const held = new Map<number, number>()
      for (const { worker, isolation } of sandbox.usage())
        if (isolation === 'shared') held.set(worker, (held.get(worker) ?? 0) + 1)
      assert.ok(held.size <= 6, `${held.size} workers`)
      assert.ok([...held.values()].every((count) => count <= 64))
    },
    { beatInterval: 1_000 },
    'shared',
  )
})

test('§6 with auto isolation few share a worker, and who asks for memory has one of its own', async () => {
  await withStage(
    async ({ load, sandbox }) => {
      const names = Array.from({ length: 40 }, (_, index) => `p${index}`)
      await Promise.all(names.map((name) => load(name, '')))
      await load('large', '', { limits: { memory: 200 } })
      const held = new Map<number, number>()
      for (const { plugin, worker, isolation } of sandbox.usage()) {
        assert.equal(isolation, plugin === '@test/large' ? 'dedicated' : 'shared')
        held.set(worker, (held.get(worker) ?? 0) + 1)
      }
      assert.ok([...held.values()].every((count) => count <= 16))
      assert.ok(held.size <= 9, `${held.size} workers`)
    },
    { beatInterval: 1_000 },
    'auto',
  )
})

test('§6 a worker that its last plugin has left takes the next one, and not the fresh one that is kept ready', async () => {
  await withStage(
    async ({ load, sandbox }) => {
      const { isolate } = await load('a', '')
      const [before] = sandbox.usage()
      await isolate.unload()
      await load('b', '')
      assert.equal(sandbox.usage()[0]?.worker, before?.worker)
    },
    // The fresh one is there before the first plugin is loaded.
    { spareDelay: 0, beatInterval: 1_000 },
    'shared',
  )
})

test('§6 a worker that is started for a plugin that is expected takes it, and ends where none came', async () => {
  await withStage(
    async ({ load, sandbox }) => {
      await sandbox.expect(1)
      await sandbox.expect(0)
      // That one is gone, and its number with it.
      await sandbox.expect(1)
      await load('a', '')
      assert.equal(sandbox.usage()[0]?.worker, 2)
    },
    { beatInterval: 1_000 },
    'shared',
  )
})

test('§6 who shares a worker with a plugin that is not loaded in time notices nothing of it', async () => {
  await withStage(
    async ({ load, sandbox }) => {
      const { isolate } = await load('quiet', '')
      await assert.rejects(load('endless', 'while true do end'), { code: 'load_timeout' })
      assert.deepEqual(
        sandbox.usage().map(({ plugin, worker }) => [plugin, worker]),
        [['@test/quiet', 1]],
      )
      await isolate.unload()
      assert.equal(await isolate.ended, undefined)
    },
    // Lua itself would stop it later.
    { loadDeadline: 3_000, loadTime: 600_000, beatInterval: 1_000 },
    'shared',
  )
})

test('§6 who shares a worker with a plugin whose onCleanup does not end in time notices nothing of it', async () => {
  await withStage(
    async ({ load, sandbox }) => {
      const quiet = await load('quiet', '')
      const { isolate } = await load('endless', 'plugin:onCleanup(function() while true do end end)')
      await isolate.unload()
      assert.deepEqual(
        sandbox.usage().map(({ plugin, worker }) => [plugin, worker]),
        [['@test/quiet', 1]],
      )
      await quiet.isolate.unload()
      assert.equal(await quiet.isolate.ended, undefined)
    },
    // Lua itself would stop it later.
    { unloadDeadline: 300, cleanupTime: 600_000, beatInterval: 1_000 },
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
      for (let n = 0; n < 400; n += 1) busy.isolate.deliverEvent('work', json(n))
      // There are two seconds of work before it, in slices of 10 ms.
      quick.isolate.deliverEvent('ask', json(1))
      await quick.recorder.logged('answer\t1')
      assert.ok(!busy.recorder.logs().includes('info did\t399'))
    },
    {},
    'shared',
  )
})

test('§6 a plugin that cannot be set aside gets a worker of its own; another version of it starts anew', async () => {
  await withStage(
    async ({ load }) => {
      const steady = await load('steady', 'plugin:on("go", function() print("alive") end)')
      const stubborn = await load(
        'stubborn',
        `local endless = setmetatable({}, { __tostring = function() while true do end end })
        plugin:setTimeout(1, function() tostring(endless) end)`,
      )
      assert.equal(await stubborn.isolate.ended, undefined)
      assert.ok(stubborn.recorder.logs().some((line) => /^warn it takes too much time/.test(line)))
      steady.isolate.deliverEvent('go', json())
      await steady.recorder.logged('alive')
      const again = await load('stubborn', 'print("again")')
      assert.equal(again.isolate.usage().isolation, 'dedicated')
      const newer = await load('stubborn', 'print("newer")', { version: '2.0.0' })
      assert.equal(newer.isolate.usage().isolation, 'shared')
    },
    {},
    'shared',
  )
})

test('§6 what a large plugin has left behind is collected, although its worker is idle', async () => {
  await withStage(
    async ({ load, sandbox }) => {
      const steady = await load('steady', '')
      const large = await load(
        'large',
        `local kept = {} for i = 1, 100 do kept[i] = ("x"):rep(1000000) .. i end plugin:on("keep", function() print(#kept) end)`,
      )
      const memory = (): number => sandbox.usage()[0]?.memory ?? 0
      await steady.recorder.until(() => (memory() > 100e6 ? true : undefined))
      await large.isolate.unload()
      await steady.recorder.until(() => (memory() < 50e6 ? true : undefined))
    },
    { heartbeatInterval: 100, sharedStringMegabytes: 256 },
    'shared',
  )
})

const keeper = `local kept = {} for i = 1, 12 do kept[i] = ("x"):rep(1000000) .. i end
plugin:on("keep", function() print(#kept) end)`

for (const [isolatesInSmallGroup, isolation] of [
  [1, 'shared'],
  [16, 'dedicated'],
] as const) {
  test(`§6 a plugin whose load finds no room in a worker that ${isolatesInSmallGroup === 1 ? 'many' : 'few'} others fill runs in another one`, async () => {
    await withStage(
      async ({ load, sandbox }) => {
        await load('first', keeper)
        const { recorder } = await load('second', keeper)
        const [first, second] = sandbox.usage()
        assert.deepEqual([first?.isolation, second?.isolation], ['shared', isolation])
        assert.notEqual(first?.worker, second?.worker)
        assert.match(
          recorder.logs().join('\n'),
          /^warn loading in a shared worker came to nothing \(.*not enough memory for strings/,
        )
      },
      // Nobody is evicted, as while somebody is on the way out.
      { sharedStringMegabytes: 20, sharedMemoryShare: 10, isolatesInSmallGroup },
      'shared',
    )
  })
}

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
      callbackTime: 60_000,
    },
    'shared',
  )
})

test('§6 a worker in which nobody has had a turn for a while has no beats, and whoever hangs then is seen as soon as ever', async () => {
  const beatInterval = 7
  let paused: () => void
  const pause = new Promise<void>((resolve) => (paused = resolve))
  const clock: Clock = {
    ...systemClock,
    schedule(milliseconds, callback) {
      const call = systemClock.schedule(milliseconds, callback)
      if (milliseconds !== beatInterval) return call
      return {
        cancel() {
          call.cancel()
          paused()
        },
      }
    },
  }
  await withStage(
    async ({ load }) => {
      const { isolate } = await load('late', `plugin:on("go", function() ${unstoppable} end)`)
      await pause
      isolate.deliverEvent('go', json(1))
      const error = await isolate.ended
      assert.match(String(error), /did not let go of the worker that it shares/)
    },
    { beatInterval, heartbeatInterval: 100, unresponsiveAfter: 20_000, callbackTime: 60_000 },
    'shared',
    { clock },
  )
})
