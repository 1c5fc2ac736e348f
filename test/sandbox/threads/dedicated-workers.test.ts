import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { type Isolate, IsolateError, type IsolateSource } from '../../../src/sandbox/isolate.ts'
import { signalCells } from '../../../src/schema/worker/shared-cells.ts'
import { silentLogger } from '../../../src/base/log/log.ts'
import { defaultLimits, type SandboxLimits } from '../../../src/sandbox/limits.ts'
import { createDedicatedWorkers } from '../../../src/sandbox/threads/dedicated-workers.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { createRecorder, pluginSource, testSandbox } from '../stage.ts'

/** Loads of one plugin after another, with the number of the worker that each had. */
function stage(context: TestContext, limits: Partial<SandboxLimits> = {}) {
  const clock = createManualClock()
  const sandbox = testSandbox(limits, { clock, isolation: 'dedicated' })
  context.after(() => sandbox.close())
  const recorder = createRecorder()
  let isolate: Isolate | undefined

  async function load(lua: string, overrides: Partial<IsolateSource> = {}): Promise<number> {
    isolate = await sandbox.load(pluginSource(lua, overrides), recorder.services)
    return sandbox.usage()[0]?.worker ?? Number.NaN
  }

  /** After the first sign of life, which says how much is in the worker. `meanwhile`: once it has begun. */
  async function unload(meanwhile = (): void => undefined): Promise<void> {
    while (sandbox.usage()[0]?.memory === null) await setImmediate()
    const unloaded = isolate?.unload()
    meanwhile()
    await unloaded
  }

  return { clock, recorder, load, unload }
}

const marked = 'print(shared) shared = "of the load before" string.mark = shared'

test('a plugin that is loaded again finds the worker that it left, and nothing of its own there', async (context) => {
  const { recorder, load, unload } = stage(context)
  const lua = `${marked} print(string.mark == shared) plugin:setInterval(1, function() end)
    plugin:onCleanup(function() print("left") end)`
  const first = await load(lua)
  await unload()
  const second = await load(`print(string.mark) ${lua}`)
  await unload()
  assert.equal(second, first)
  assert.deepEqual(
    recorder.logs(),
    ['nil', 'true', 'left', 'nil', 'nil', 'true', 'left'].map((line) => `info ${line}`),
  )
})

test('a worker waits for its plugin for ten seconds, and no longer', async (context) => {
  const { clock, load, unload } = stage(context)
  const first = await load('')
  await unload()
  clock.advance(9_999)
  assert.equal(await load(''), first)
  await unload()
  clock.advance(10_000)
  assert.notEqual(await load(''), first)
})

test('another version, other limits and another plugin get another worker', async (context) => {
  const { load, unload } = stage(context)
  const all = [
    await load(''),
    await unload().then(() => load('', { version: '2.0.0' })),
    await unload().then(() => load('', { version: '2.0.0', limits: { memory: 100 } })),
    await unload().then(() => load('', { id: '@other/probe', version: '2.0.0', limits: { memory: 100 } })),
  ]
  assert.equal(new Set(all).size, all.length)
})

test('a worker in which a lot is left waits for nobody', async (context) => {
  const { load, unload } = stage(context, { keptWorkerMegabytes: 0 })
  const first = await load('')
  await unload()
  assert.notEqual(await load(''), first)
})

test('a worker that had to be ended by force does not come back', async (context) => {
  const { clock, load, unload } = stage(context)
  const first = await load('plugin:onCleanup(function() while true do end end)')
  await unload(() => clock.advance(7_000))
  assert.notEqual(await load(''), first)
})

test('§6 a worker counts until it has ended, so that nobody else is ended for the memory that it still has', async (context) => {
  const clock = createManualClock()
  const own = createDedicatedWorkers({
    clock,
    logger: silentLogger,
    limits: defaultLimits,
    nextNumber: () => 1,
  })
  context.after(() => own.close())
  const left = own.take(1, pluginSource('')).leave(false)
  assert.equal([...own.memoryUsers()].length, 1)
  await left
  assert.equal([...own.memoryUsers()].length, 0)
})

test('§6 one that was ended while it waited has nothing any more, and is not ended again in the place of one that has', async (context) => {
  const clock = createManualClock()
  const own = createDedicatedWorkers({
    clock,
    logger: silentLogger,
    limits: defaultLimits,
    nextNumber: () => 1,
  })
  context.after(() => own.close())
  const slot = own.take(1, pluginSource(''))
  Atomics.store(new Int32Array(slot.signal), signalCells.memory, 30 * 1024)
  await slot.leave(true)
  const [waiting] = [...own.memoryUsers()]
  assert.equal(waiting?.largest(), 30 * 1024 * 1024)
  await waiting.evict(new IsolateError('machine_out_of_memory', 'hardly any memory was left'), true)
  assert.equal(waiting.largest(), 0)
})
