import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { AvailableMemory } from '../../../src/base/memory/available-memory.ts'
import { silentLogger } from '../../../src/base/log/log.ts'
import { createMemoryEviction, type MemoryUser } from '../../../src/sandbox/threads/memory-eviction.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import type { IsolateError, Sandbox } from '../../../src/sandbox/isolate.ts'
import { withStage } from '../plugins-stage.ts'
import { json } from '../stage.ts'

const mebibyte = 1024 * 1024
const total = 512 * mebibyte
/** An eighth of that is to be left. */
const reserve = 64

/** Workers with so many megabytes, and a machine that has so many left. */
function stage(context: TestContext, sizes: Record<string, number>, says = true) {
  const clock = createManualClock()
  /** Those that plugins share, and what the one has that has most. */
  const ofLargest: Record<string, number> = {}
  /** Those that do not end, though they are told to. */
  const stuck = new Set<string>()
  const did: string[] = []
  const warned: unknown[] = []
  const machine: { left: number | undefined; looks: number } = {
    left: says ? 400 : undefined,
    looks: 0,
  }
  const workers = Object.entries(sizes).map(([name]): MemoryUser => ({
    memory: () => (sizes[name] ?? 0) * mebibyte,
    largest: () => (ofLargest[name] ?? sizes[name] ?? 0) * mebibyte,
    get spared() {
      return (name in ofLargest ? 16 : 48) * mebibyte
    },
    collectGarbage: () => void did.push(`collect ${name}`),
    evict(reason, atOnce) {
      did.push(`${atOnce ? 'end' : 'ask'} ${name}`)
      assert.equal(reason.code, 'machine_out_of_memory')
      return stuck.has(name) ? new Promise<void>(() => undefined) : undefined
    },
  }))
  const eviction = createMemoryEviction({
    clock,
    logger: { ...silentLogger, warn: (...message) => void warned.push(message) },
    availableMemory(): AvailableMemory | undefined {
      machine.looks += 1
      return machine.left === undefined ? undefined : { available: machine.left * mebibyte, total }
    },
    workers: () => workers,
  })
  context.after(() => eviction.close())
  /** What it did in so much time, with a machine that has so many megabytes left. */
  async function after(left: number | undefined, milliseconds: number): Promise<string[]> {
    machine.left = left
    for (let passed = 0; passed < milliseconds; passed += 10) {
      clock.advance(10)
      await setImmediate()
    }
    return did.splice(0)
  }
  return { clock, sizes, ofLargest, stuck, machine, warned, eviction, after }
}

test('§6 nobody is ended while there is memory for others, however much somebody has', async (context) => {
  const { after } = stage(context, { large: 300, small: 10 })
  assert.deepEqual(await after(2 * reserve + 1, 60_000), [])
})

test('§6 garbage is collected before anybody is ended, and not all the time', async (context) => {
  const { after } = stage(context, { large: 300, middling: 30, small: 10 })
  assert.deepEqual(await after(2 * reserve - 1, 9_000), ['collect large', 'collect middling'])
  assert.deepEqual(await after(2 * reserve - 1, 5_000), ['collect large', 'collect middling'])
})

test('§6 whoever has most is asked to go, and ended where that does not help at once', async (context) => {
  const { after, sizes } = stage(context, { large: 100, small: 10 })
  await after(2 * reserve - 1, 5_000)
  assert.deepEqual((await after(reserve - 1, 1_000)).slice(0, 2), ['ask large', 'end large'])
  sizes.large = 0
  assert.deepEqual(await after(reserve - 1, 3_000), [])
  sizes.small = 60
  assert.deepEqual(await after(reserve - 1, 60), ['ask small'])
})

test('§6 where hardly anything is left nobody is asked', async (context) => {
  const { after } = stage(context, { large: 100, small: 10 })
  await after(2 * reserve - 1, 5_000)
  assert.deepEqual((await after(reserve / 2 - 1, 350)).slice(0, 1), ['end large'])
})

test('§6 one that does not come to its end does not keep the others from being looked at', async (context) => {
  const { after, stuck } = stage(context, { large: 100, middling: 80 })
  await after(2 * reserve - 1, 5_000)
  stuck.add('large')
  assert.deepEqual(await after(reserve / 2 - 1, 2_900), ['end large'])
  assert.deepEqual((await after(reserve / 2 - 1, 500)).slice(0, 1), ['end middling'])
})

test('§6 while one that had much comes to its end the log does not say that it is not the plugins', async (context) => {
  const { after, stuck, warned } = stage(context, { large: 100, small: 10 })
  await after(2 * reserve - 1, 5_000)
  stuck.add('large')
  assert.deepEqual(await after(reserve / 2 - 1, 5_000), ['end large'])
  assert.deepEqual(warned, [])
})

test('§6 who takes little stays, and the log says once that it is not the plugins', async (context) => {
  const { after, warned } = stage(context, { one: 47, other: 20 })
  assert.deepEqual(await after(reserve - 1, 20_000), ['collect one', 'collect one'])
  assert.deepEqual(warned, [
    [
      'Hardly any memory is left, and no plugin takes much of it: the system may end the host',
      { megabytesLeft: 63, largestPlugin: 47 },
    ],
  ])
  assert.deepEqual((await after(reserve / 2 - 1, 50)).slice(0, 1), ['end one'])
})

test('§6 it looks the more often the less is left, and not at all where the system does not say', async (context) => {
  const { after, machine, clock, eviction } = stage(context, {})
  const looksIn = async (left: number, milliseconds: number): Promise<number> => {
    await after(left, 5_000)
    const before = machine.looks
    await after(left, milliseconds)
    return machine.looks - before
  }
  assert.equal(await looksIn(400, 8_400), 10)
  assert.equal(await looksIn(reserve + 20, 1_000), 20)
  assert.equal(clock.waiting, 1)
  eviction.close()
  assert.equal(clock.waiting, 0)
  assert.equal(stage(context, {}, false).clock.waiting, 0)
})

test('§6 it goes on to look where the system does not say for a moment, as without a free file descriptor', async (context) => {
  const { after } = stage(context, { large: 100 })
  assert.deepEqual(await after(undefined, 60_000), [])
  assert.deepEqual((await after(reserve / 2 - 1, 5_000)).slice(0, 2), ['collect large', 'end large'])
})

test('§6 nobody is ended for garbage, also where another program takes the memory from one look to the next', async (context) => {
  const { after, machine, clock } = stage(context, { large: 100 })
  machine.left = reserve - 1
  // Until then nobody looks again.
  clock.advance(840)
  assert.deepEqual(await after(reserve - 1, 150), ['collect large'])
  assert.deepEqual((await after(reserve - 1, 200)).slice(0, 1), ['ask large'])
})

test('§6 a worker that plugins share counts by the one that has most in it, and stays where nobody has much', async (context) => {
  const { after, ofLargest } = stage(context, { own: 50, shared: 150 })
  ofLargest.shared = 8
  await after(2 * reserve - 1, 5_000)
  assert.deepEqual(await after(reserve - 1, 400), ['ask own'])
  const other = stage(context, { own: 24, shared: 150 })
  other.ofLargest.shared = 8
  await other.after(2 * reserve - 1, 5_000)
  assert.deepEqual(await other.after(reserve / 2 - 1, 5_000), [])
  assert.equal(other.warned.length, 1)
  other.ofLargest.shared = 9
  assert.deepEqual((await other.after(reserve / 2 - 1, 50)).slice(0, 1), ['end shared'])
})

const alive = `plugin:on("go", function() print("here") end)`
const growth = `local kept = {} local function grow() for i = 1, 2000 do kept[#kept + 1] = { i } end end`
const leak = `${growth} plugin:setInterval(1, grow)`

/** Bytes that the workers have, of those that were loaded. */
const usedIn = (sandbox: Sandbox | undefined): number =>
  (sandbox?.usage() ?? []).reduce((most, { memory }) => Math.max(most, memory ?? 0), 0)

test('§6 on a machine that is short of memory a leak goes before the host, and nobody else', async () => {
  let loaded: Sandbox | undefined
  await withStage(
    async ({ load, sandbox }) => {
      loaded = sandbox
      const steady = await load('steady', alive)
      // Nobody hears of it in the midst of its callback.
      const leaking = await load(
        'leak',
        `plugin:setTimeout(1, function() ${growth} while true do grow() end end)`,
      )
      const error = await leaking.isolate.ended
      assert.equal(error?.code, 'machine_out_of_memory')
      assert.match(error.message, /^hardly any memory was left \(\d+ MB\), and it had most \(\d+ MB\)/)
      steady.isolate.deliverEvent('go', json())
      await steady.recorder.logged('here')
    },
    { heartbeatInterval: 20 },
    'dedicated',
    { availableMemory: () => ({ available: 120 * mebibyte - usedIn(loaded), total }) },
  )
})

test('§6 of those that share a worker only the one that has most has to go', async () => {
  let loaded: Sandbox | undefined
  let isShort = true
  await withStage(
    async ({ load, sandbox }) => {
      loaded = sandbox
      const steady = await load('steady', alive)
      const leaking = await load('leak', leak)
      await leaking.recorder.logged('hardly any memory was left, and it has most of a worker that it shares')
      assert.equal(await leaking.isolate.ended, undefined)
      const [steadyOne] = sandbox.usage()
      assert.equal(steadyOne?.plugin, '@test/steady')
      steady.isolate.deliverEvent('go', json())
      await steady.recorder.logged('here')
    },
    { heartbeatInterval: 20 },
    'shared',
    {
      // For one look: it has as long as it needs to go.
      availableMemory() {
        const wasShort = isShort
        isShort &&= usedIn(loaded) < 60 * mebibyte
        return { available: (wasShort === isShort ? 120 : 40) * mebibyte, total }
      },
    },
  )
})

test('§6 one at rest is asked to go from a worker that it shares, and its neighbours notice nothing', async () => {
  /** Looks, 50 ms apart, that see less than an eighth: the first of them has garbage collected, and 200 ms later somebody is asked. */
  let shortLooks = 0
  await withStage(
    async ({ load }) => {
      const steady = await load('steady', alive)
      const hoard = await load('hoard', `${growth} for i = 1, 100 do grow() end plugin:on("go", grow)`)
      shortLooks = 6
      await hoard.recorder.logged('hardly any memory was left, and it has most of a worker that it shares')
      assert.equal(await hoard.isolate.ended, undefined)
      steady.isolate.deliverEvent('go', json())
      await steady.recorder.logged('here')
    },
    { heartbeatInterval: 20 },
    'shared',
    {
      availableMemory() {
        shortLooks -= 1
        return { available: (shortLooks >= 0 ? 40 : 120) * mebibyte, total }
      },
    },
  )
})

test('§6 who calls the one that has to go for the want of memory of the machine is not charged with it', async () => {
  let shortLooks = 0
  await withStage(
    async ({ load }) => {
      const lua = `${growth} for i = 1, 100 do grow() end function plugin:work() for i = 1, 1e9 do local t = grow end end`
      const serving = await load('serving', lua)
      const caller = await load(
        'caller',
        `plugin:on("go", function() Plugin.get("@test/serving"):work() end)`,
      )
      const charged: IsolateError[] = []
      caller.recorder.services.charged = (error) => void charged.push(error)
      caller.isolate.deliverEvent('go', json())
      shortLooks = 6
      await serving.recorder.logged('hardly any memory was left')
      assert.equal(await serving.isolate.ended, undefined)
      assert.deepEqual(charged, [])
    },
    { heartbeatInterval: 20 },
    'shared',
    {
      availableMemory() {
        shortLooks -= 1
        return { available: (shortLooks >= 0 ? 40 : 120) * mebibyte, total }
      },
    },
  )
})
