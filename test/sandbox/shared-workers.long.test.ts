import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noResources } from '../../src/schema/plugin/plugin.ts'
import { withStage } from './plugins-stage.ts'
import { json } from './stage.ts'

/** What workers that plugins share take of the memory, over many loads. */

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
      steady.isolate.deliverEvent('go', json())
      await steady.recorder.logged('alive')
    },
    // Where the processor is short a load may take longer than a shared worker allows; that is not the subject.
    { heartbeatInterval: 50, unresponsiveAfter: 30_000, beatInterval: 1_000 },
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
