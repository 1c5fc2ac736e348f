import { type SerializedJson, serializeJson } from '../../src/base/text/serialized-json.ts'
import { batchByteLimit } from '../../src/sandbox/worker/outbox.ts'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IsolateError } from '../../src/sandbox/isolate.ts'
import { noResources } from '../../src/schema/plugin/plugin.ts'
import { createManualClock } from '../helpers/manual-clock.ts'
import { until } from '../helpers/until.ts'
import { json, createRecorder, needsOwnWorker, pluginSource, testSandbox, withPlugin } from './stage.ts'

test('§6 an endless loop in a callback is stopped with its line, also within pcall, and the plugin goes on', async () => {
  await withPlugin(
    pluginSource(`
      plugin:setTimeout(1, function() while true do pcall(function() while true do end end) end end)
      plugin:setTimeout(2, function() print("still here") end)
    `),
    async ({ recorder }) => {
      await recorder.logged('still here')
      assert.equal(recorder.logs()[0], 'warn limit reached: callbackTime is 100 ms')
      assert.match(recorder.logs()[1] ?? '', /error timer: init\.lua:2: .*longer than 0\.1 s/)
    },
    { callbackTime: 100 },
  )
})

test('§6 a plugin that does not answer is ended by the watchdog, and nothing of it is left', async () => {
  await withPlugin(
    pluginSource(`
      plugin:upsertObject("now", { value = 1 })
      plugin:mqttSubscribe("a", print)
      plugin:on("tick", print)
      plugin:setTimeout(1, function() while true do end end)
    `),
    async ({ recorder, isolate }) => {
      const reason = await isolate.ended
      assert.ok(reason instanceof IsolateError)
      assert.equal(reason.code, 'unresponsive')
      assert.deepEqual(recorder.calls.slice(-3), [
        ['unsubscribeEvent', 'tick'],
        ['unsubscribeTopic', 1],
        ['setObject', 'now', undefined],
      ])
      assert.deepEqual(isolate.resources(), noResources)
      const count = recorder.calls.length
      isolate.deliverEvent('tick', json(1))
      await assert.rejects(isolate.setControl('lamp', true), { code: 'invalid_transition' })
      await isolate.unload()
      assert.equal(recorder.calls.length, count)
    },
    { callbackTime: 60_000, heartbeatInterval: 50, unresponsiveAfter: 200 },
  )
})

test('§6 a plugin that only waits for the host now and then is not taken for dead', async () => {
  await withPlugin(
    pluginSource(`
      local count = 0
      plugin:setInterval(10, function()
        plugin:getObject("plugins.a.b.c")
        count = count + 1
        if count == 40 then print("alive") end
      end)
    `),
    async ({ recorder, isolate }) => {
      const ended = isolate.ended.then((reason) => reason?.code ?? 'ended')
      assert.match(await Promise.race([recorder.logged('alive'), ended]), /alive/)
    },
    { heartbeatInterval: 20, unresponsiveAfter: 200 },
  )
})

test('§6 a chunk that never ends fails the load within its time', async () => {
  const sandbox = testSandbox({ loadTime: 100 })
  try {
    await assert.rejects(
      sandbox.load(pluginSource('\nwhile true do end'), createRecorder().services),
      (error) => {
        assert.ok(error instanceof IsolateError)
        assert.equal(error.code, 'load_timeout')
        assert.match(error.message, /^init\.lua:2: /)
        return true
      },
    )
  } finally {
    await sandbox.close()
  }
})

test('§6 a chunk that resists Lua’s limit fails the load at the host’s deadline', async () => {
  const sandbox = testSandbox({ loadTime: 60_000, loadDeadline: 2_000 })
  const recorder = createRecorder()
  try {
    const lua = 'while true do end'
    await assert.rejects(sandbox.load(pluginSource(lua), recorder.services), { code: 'load_timeout' })
  } finally {
    await sandbox.close()
  }
})

test('§6 a load has five times as long at most where the machine leaves the host no processor', async () => {
  const manual = createManualClock()
  const clock = { ...manual, processorTime: () => 0 }
  const sandbox = testSandbox({ loadTime: 600_000 }, { clock })
  const recorder = createRecorder()
  try {
    const loading = sandbox.load(pluginSource('print("here")'), recorder.services)
    manual.advance(149_000)
    await (await loading).unload()
    const endless = sandbox.load(pluginSource('while true do end'), recorder.services)
    manual.advance(150_000)
    await assert.rejects(endless, { code: 'load_timeout' })
  } finally {
    await sandbox.close()
  }
})

test(
  '§6 a bomb of tables ends the plugin as out of memory, not the host',
  needsOwnWorker('a shared worker has a heap of its own size'),
  async () => {
    await withPlugin(
      pluginSource(`
      plugin:upsertObject("now", { value = 1 })
      plugin:setTimeout(1, function() local all = {} while true do all[#all + 1] = { {}, {}, {} } end end)
    `),
      async ({ recorder, isolate }) => {
        const reason = await isolate.ended
        assert.equal(reason?.code, 'out_of_memory')
        assert.match(reason?.message ?? '', /40 MB/)
        assert.deepEqual(recorder.calls.at(-1), ['setObject', 'now', undefined])
      },
      { memory: 40, callbackTime: 20_000, unresponsiveAfter: 30_000 },
    )
  },
)

test('§6 a bomb of strings is refused', async () => {
  await withPlugin(
    pluginSource(`
      plugin:setTimeout(1, function()
        local ok, message = pcall(function() local all = {} for i = 1, 1000 do all[i] = ("x"):rep(1000000 + i) end end)
        print(ok, "stopped")
      end)
    `),
    async ({ recorder }) => assert.match(await recorder.logged('stopped'), /false\tstopped/),
    { stringBytes: 32 * 1024 * 1024, callbackTime: 20_000, unresponsiveAfter: 30_000 },
  )
})

test(
  '§6 a plugin that has dropped its strings goes on, also when it rests and nobody collects them',
  needsOwnWorker('in a shared worker all plugins together are looked at'),
  async () => {
    await withPlugin(
      pluginSource(`
        plugin:setTimeout(1, function()
          local all = {}
          repeat until not pcall(function() all[#all + 1] = ("x"):rep(1000000) .. #all end)
          print("full")
        end)
      `),
      async ({ recorder, isolate }) => {
        await recorder.logged('full')
        const ended = isolate.ended.then((reason) => assert.fail(reason?.message))
        const small = until('signs of life of a plugin that keeps little', () =>
          Promise.resolve((isolate.usage().memory ?? Infinity) < 40_000_000),
        )
        await Promise.race([small, ended])
      },
      { memory: 40, heartbeatInterval: 5, callbackTime: 20_000, unresponsiveAfter: 30_000 },
    )
  },
)

test('§6 a memory bomb in onInit fails the load', async () => {
  const sandbox = testSandbox({ memory: 40 })
  try {
    const lua =
      'plugin:onInit(function() local all = {} while true do all[#all + 1] = { {}, {}, {} } end end)'
    await assert.rejects(sandbox.load(pluginSource(lua), createRecorder().services), {
      code: 'out_of_memory',
    })
  } finally {
    await sandbox.close()
  }
})

test(
  '§6 a plugin that floods waits for whoever reads it, and nothing is lost or out of order',
  needsOwnWorker('a flood in one callback is moved out of a shared worker'),
  async () => {
    const total = 5_000
    /** Bytes of each event's text. */
    const length = 500
    const sandbox = testSandbox()
    const recorder = createRecorder()
    let waiting = 0
    let most = 0
    let before = 0
    const flood: unknown[] = []
    const services = {
      ...recorder.services,
      emit(_name: string, data: SerializedJson) {
        flood.push(data.value())
        if (flood.length === total)
          recorder.services.log(serializeJson({ at: '', level: 'info', message: 'all came' }))
      },
      congested: () => {
        most = Math.max(most, flood.length - before)
        before = flood.length
        waiting += 1
        return Promise.resolve()
      },
    }
    try {
      await sandbox.load(
        pluginSource(
          `plugin:setTimeout(1, function() local text = ("x"):rep(${length})
            for i = 1, ${total} do plugin:emit("flood", i .. text) end end)`,
        ),
        services,
      )
      await recorder.logged('all came')
      assert.deepEqual(
        flood,
        Array.from({ length: total }, (_, index) => `${index + 1}${'x'.repeat(length)}`),
      )
      const fitting = Math.ceil(batchByteLimit / length)
      assert.ok(waiting >= total / fitting, `it came in ${waiting} batches`)
      assert.ok(most <= fitting, `${most} in a batch`)
    } finally {
      await sandbox.close()
    }
  },
)

test('§6 a plugin that is behind loses deliveries with a warning, and never more than its room piles up', async () => {
  await withPlugin(
    pluginSource(`
      plugin:on("tick", function(data) if data == "last" then print("last") end end)
    `),
    async ({ recorder, isolate }) => {
      // The worker has no chance to handle any of them within this turn.
      for (let index = 0; index < 100; index += 1) isolate.deliverEvent('tick', json('x'.repeat(1_000)))
      assert.deepEqual(recorder.logs(), [
        'warn events and messages are dropped: the plugin handles them more slowly than they come',
      ])
    },
    { deliveryBytes: 20_000 },
  )
})

test('§6 closing the sandbox unloads every plugin, and nothing holds the process open', async () => {
  const sandbox = testSandbox()
  const recorders = [createRecorder(), createRecorder()]
  const isolates = await Promise.all(
    recorders.map(({ services }) =>
      sandbox.load(
        pluginSource('plugin:onCleanup(function() print("bye") end) plugin:setInterval(5, function() end)'),
        services,
      ),
    ),
  )
  await Promise.all([sandbox.close(), sandbox.close()])
  assert.deepEqual(
    recorders.map((recorder) => recorder.logs()),
    [['info bye'], ['info bye']],
  )
  assert.deepEqual(await Promise.all(isolates.map(({ ended }) => ended)), [undefined, undefined])
  // Node closes its own port to a worker some turns after it has said that the worker is gone.
  const isOpen = (name: string): boolean => /Worker|MessagePort/.test(name)
  await until('the end of workers and ports', () =>
    Promise.resolve(!process.getActiveResourcesInfo().some(isOpen)),
  )
  await assert.rejects(sandbox.load(pluginSource(''), createRecorder().services), { code: 'worker_died' })
})

test('§6 closing while a plugin loads ends it and fails the load', async () => {
  const sandbox = testSandbox()
  const recorder = createRecorder()
  const load = sandbox.load(
    pluginSource('plugin:upsertObject("now", {value = 1}) while true do end'),
    recorder.services,
  )
  const failed = assert.rejects(load, { code: 'worker_died' })
  await sandbox.close()
  await failed
})

test('§6 a service that throws does not stop the others', async () => {
  const sandbox = testSandbox()
  const recorder = createRecorder()
  try {
    const services = {
      ...recorder.services,
      emit: () => {
        throw new Error('broken')
      },
    }
    await sandbox.load(pluginSource('plugin:emit("a") print("after")'), services)
    assert.deepEqual(recorder.logs(), ['info after'])
  } finally {
    await sandbox.close()
  }
})

test('§1 Lua sees nothing of the machine', async () => {
  await withPlugin(
    pluginSource('print(io, os.execute, os.getenv, load, dofile, debug, package, js, fengari)'),
    ({ recorder }) => assert.deepEqual(recorder.logs(), [`info ${Array(9).fill('nil').join('\t')}`]),
  )
})
