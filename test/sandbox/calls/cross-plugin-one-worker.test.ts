import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/time/clock.ts'
import { silentLogger } from '../../../src/base/log/log.ts'
import { createIsolateHost } from '../../../src/sandbox/isolates/isolate-host.ts'
import { defaultLimits } from '../../../src/sandbox/limits.ts'
import { createPluginCalls } from '../../../src/sandbox/calls/plugin-calls.ts'
import { createScheduler } from '../../../src/sandbox/flow/scheduler.ts'
import { createWorkerThread } from '../../../src/sandbox/threads/worker-thread.ts'
import { json, createRecorder, rawSource, type Recorder } from '../stage.ts'

test('§9 two plugins in one worker call each other, back and forth, and one ends alone', async () => {
  const common = { clock: systemClock, logger: silentLogger, limits: defaultLimits }
  const thread = createWorkerThread({ ...common, name: 'both' })
  const pluginCalls = createPluginCalls()
  const createQueue = createScheduler(systemClock.monotonic)

  async function load(number: number, name: string, lua: string) {
    const recorder: Recorder = createRecorder()
    recorder.services.installedAs = (id) => [`@test/${id}`]
    const isolate = createIsolateHost({
      ...{ ...common, number, pluginCalls, createQueue, services: recorder.services },
      slot: {
        ...thread,
        ...{ isolation: 'shared' as const, worker: 1, heapMegabytes: defaultLimits.memory },
        moveAway: () => 'the same again',
        reportWorkerFull: () => undefined,
        // The worker outlives its first isolate.
        leave: () => Promise.resolve(),
      },
      source: rawSource(`local plugin = Plugin:new("${name}") ${lua}`, {
        id: `@test/${name}`,
        shortId: name,
      }),
    })
    await isolate.load()
    return { isolate, recorder }
  }

  try {
    const a = await load(
      1,
      'a',
      `
        hidden = "of a"
        function plugin:down(n, log) if n == 0 then return log("a") end return Plugin.get("b"):down(n - 1, log) end
      `,
    )
    const b = await load(
      2,
      'b',
      `
        function plugin:down(n, log) if n == 0 then return log("b") end return Plugin.get("a"):down(n - 1, log) end
        local a = Plugin.get("a")
        print(hidden, a:down(0, function(name) return "answered by " .. name end))
        plugin:on("go", function() print(pcall(function() return a:down(5, function(name) return "then by " .. name end) end)) end)
      `,
    )
    assert.deepEqual(b.recorder.logs(), ['info nil\tanswered by a'])
    b.isolate.deliverEvent('go', json())
    assert.equal(await b.recorder.logged('then'), 'info true\tthen by b')
    await a.isolate.unload()
    b.isolate.deliverEvent('go', json())
    assert.match(await b.recorder.logged('false'), /plugin not running: @test\/a$/)
    await b.isolate.unload()
    assert.equal(pluginCalls.references, 0)
  } finally {
    await thread.close()
  }
})
