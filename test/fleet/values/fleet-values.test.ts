import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import fc from 'fast-check'
import { type Clock, systemClock } from '../../../src/base/time/clock.ts'
import { createKeyRing } from '../../../src/base/keys/key-ring.ts'
import { type Logger, silentLogger } from '../../../src/base/log/log.ts'
import { StoreRefusedError, StoreUnreachableError } from '../../../src/fleet/store/store-errors.ts'
import { createFleetValues } from '../../../src/fleet/values/fleet-values.ts'
import { openValueBucket, type ValueBucket } from '../../../src/fleet/values/value-bucket.ts'
import { recordSubject, valuesStreamName } from '../../../src/fleet/values/value-names.ts'
import {
  contractRing,
  keyValueContract,
  otherPlugin,
  plugin,
  sorted,
} from '../../lifecycle/stores/key-value-contract.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { connectTo, startStore } from '../../helpers/nats-server.ts'
import { until } from '../../helpers/until.ts'
import { createFleetStage } from '../fleet-stage.ts'

const stage = createFleetStage()

keyValueContract('the values of a fleet', async (context) => {
  const fleet = stage.newFleet()
  const connection = await stage.connection(context)
  let epoch = 0
  async function contents(): Promise<[string, string][]> {
    const manager = await jetstreamManager(connection)
    const stream = valuesStreamName(fleet)
    const { state } = await manager.streams.info(stream, { subjects_filter: '>' })
    const found: [string, string][] = []
    for (const subject of Object.keys(state.subjects ?? {})) {
      const message = await manager.streams.getMessage(stream, { last_by_subj: subject })
      found.push([subject, message?.string() ?? ''])
    }
    return found
  }
  return {
    async open({ ring = contractRing, clock = systemClock } = {}) {
      const bucket = await openValueBucket(connection, fleet, ring)
      epoch += 1
      const own = epoch
      return createFleetValues({ bucket, clock, logger: silentLogger, epochOf: () => own })
    },
    async damage(id) {
      const subject = recordSubject(fleet, id)
      const text = (await contents()).find(([each]) => each === subject)?.[1] ?? ''
      await jetstream(connection).publish(subject, text.replace('sealed', 'seAled'))
    },
    content: async () => (await contents()).map(String).join('\n'),
  }
})

/** Hosts of one fleet: each holds every plugin under its own epoch, whatever the others think. */
async function createFleet(context: TestContext, url = stage.url()) {
  const fleet = stage.newFleet()
  async function bucketOf() {
    const connection = await connectTo(context, url)
    return { connection, bucket: await openValueBucket(connection, fleet, contractRing) }
  }
  return {
    fleet,
    bucketOf,
    async host(
      epoch: number,
      wrap = (bucket: ValueBucket) => bucket,
      logger: Logger = silentLogger,
      clock: Clock = systemClock,
    ) {
      const { bucket, connection } = await bucketOf()
      const holding = { epoch }
      const stores = createFleetValues({
        ...{ bucket: wrap(bucket), clock, logger },
        epochOf: () => holding.epoch,
      })
      context.after(() => stores.close())
      return { stores, holding, connection, bucket }
    },
  }
}

/** Makes the patience with a store that does not answer end after one try, once it is told to. */
function createHaste(): { clock: Clock; begin(): void } {
  let passed = 0
  let step = 0
  return {
    clock: { ...systemClock, monotonic: () => systemClock.monotonic() + (passed += step) },
    begin: () => void (step = 60_000),
  }
}

/** Warnings and errors, by their texts. */
function recordingLogger(): { logger: Logger; told: string[] } {
  const told: string[] = []
  const note = (message: string) => void told.push(message)
  return { told, logger: { ...silentLogger, warn: note, error: note } }
}

/** More than the record itself takes. */
function fill(
  stores: { set: (plugin: string, key: string, entry: { value: string }) => void },
  value: string,
) {
  for (let index = 0; index < 400; index += 1)
    stores.set(plugin, `key-${index}`, { value: value.repeat(200) })
}

for (const isLarge of [false, true]) {
  const what = isLarge ? 'many values' : 'few values'

  test(`who held a plugin before writes nothing any more, also when it has paused anywhere: ${what}`, async (context) => {
    const { host } = await createFleet(context)
    const { logger, told } = recordingLogger()
    let pausedAt: 'putPart' | 'write' | undefined
    let goOn = () => {}
    let isPaused = () => {}
    const pausing = (bucket: ValueBucket): ValueBucket => ({
      ...bucket,
      async putPart(...given) {
        if (pausedAt === 'putPart') await pauseHere()
        return bucket.putPart(...given)
      },
      async write(...given) {
        if (pausedAt === 'write') await pauseHere()
        return bucket.write(...given)
      },
    })
    function pauseHere() {
      pausedAt = undefined
      isPaused()
      return new Promise<void>((resolve) => (goOn = resolve))
    }
    for (const [index, place] of (isLarge
      ? (['putPart', 'write'] as const)
      : (['write'] as const)
    ).entries()) {
      const old = await host(2 * index + 1, pausing, logger)
      await old.stores.open(plugin)
      if (isLarge) fill(old.stores, 'a')
      old.stores.set(plugin, 'who', { value: 'old' })
      await old.stores.release(plugin)
      await old.stores.open(plugin)
      old.stores.set(plugin, 'who', { value: 'late' })
      old.stores.set(plugin, 'more', { value: 'late' })
      pausedAt = place
      const paused = new Promise<void>((resolve) => (isPaused = resolve))
      const released = old.stores.release(plugin)
      await paused
      const next = await host(2 * index + 2)
      const found = await next.stores.open(plugin)
      assert.equal(found.who?.value, 'old')
      next.stores.set(plugin, 'by', { value: place })
      goOn()
      await released
      await next.stores.release(plugin)
      assert.deepEqual(sorted(await next.stores.open(plugin)), sorted({ ...found, by: { value: place } }))
      assert.deepEqual(told.splice(0), [
        'Stored values were not written: another host has taken the plugin over',
      ])
      await next.stores.close()
    }
  })

  test(`a write whose answer is lost is there once, and the next one goes on top of it: ${what}`, async (context) => {
    const { host } = await createFleet(context)
    let loses = 0
    const deaf = (bucket: ValueBucket): ValueBucket => ({
      ...bucket,
      async write(...given) {
        const answer = await bucket.write(...given)
        loses -= 1
        if (loses >= 0) throw new StoreUnreachableError('no answer')
        return answer
      },
    })
    const haste = createHaste()
    const { stores } = await host(1, deaf, silentLogger, haste.clock)
    loses = 2
    await stores.open(plugin)
    haste.begin()
    if (isLarge) fill(stores, 'a')
    stores.set(plugin, 'a', { value: 1 })
    loses = 1
    await stores.release(plugin)
    // Not known to be written: it stays in memory.
    stores.set(plugin, 'b', { value: 2 })
    const again = await stores.open(plugin)
    assert.deepEqual([again.a, again.b], [{ value: 1 }, { value: 2 }])
    loses = 1
    stores.set(plugin, 'c', { value: 3 })
    await stores.release(plugin)
    loses = 1
    const more = await stores.open(plugin)
    assert.deepEqual([more.a, more.b, more.c], [{ value: 1 }, { value: 2 }, { value: 3 }])
    await stores.close()
    const next = await host(2)
    assert.deepEqual(sorted(await next.stores.open(plugin)), sorted(more))
  })
}

test('law: of hosts that write at once, in whatever order, only the last holder changes what it has read', async (context) => {
  const anyAct = fc.record({
    host: fc.integer({ min: 0, max: 2 }),
    does: fc.constantFrom('open', 'set', 'fill', 'release'),
    waits: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(anyAct, { maxLength: 25, size: 'max' }), async (acts) => {
      const { host } = await createFleet(context)
      const hosts = [await host(1), await host(2), await host(3)]
      let number = 0
      for (const act of acts) {
        const { stores } = hosts[act.host] as (typeof hosts)[number]
        number += 1
        if (act.does === 'set') stores.set(plugin, `key-${number % 5}`, { value: number })
        if (act.does === 'fill') fill(stores, String(number % 10))
        const work =
          act.does === 'open'
            ? stores.open(plugin)
            : act.does === 'release'
              ? stores.release(plugin)
              : undefined
        const settled = work?.catch((error: unknown) => assert.match(String(error), /belong to its epoch/))
        if (act.waits) await settled
      }
      const last = await host(4)
      // While the others still write, and after it has read.
      const writeLate = () =>
        hosts.map(({ stores }) => {
          stores.set(plugin, 'late', { value: 'late' })
          return stores.release(plugin)
        })
      const late = writeLate()
      const found = await last.stores.open(plugin)
      late.push(...writeLate())
      last.stores.set(plugin, 'own', { value: 1 })
      await Promise.all([...late, last.stores.release(plugin)])
      const after = await (await host(5)).stores.open(plugin)
      assert.deepEqual(sorted(after), sorted({ ...found, own: { value: 1 } }))
      await Promise.all([...hosts, last].map(({ stores }) => stores.close()))
    }),
    { numRuns: 15 },
  )
})

test('a plugin that is loaded again while it is still being loaded keeps what it sets: the first one does not stand in its way', async (context) => {
  const { host } = await createFleet(context)
  const { logger, told } = recordingLogger()
  let isPaused = () => {}
  let goOn: (() => void) | undefined
  const pausing = (bucket: ValueBucket): ValueBucket => ({
    ...bucket,
    async entries(...given) {
      if (goOn === undefined) {
        const going = new Promise<void>((resolve) => (goOn = resolve))
        isPaused()
        await going
      }
      return bucket.entries(...given)
    },
  })
  const { stores, bucket } = await host(1, pausing, logger)
  const paused = new Promise<void>((resolve) => (isPaused = resolve))
  const first = stores.open(plugin)
  await paused
  const second = stores.open(plugin)
  // As long as the second would take if nobody were before it.
  for (let times = 0; times < 10; times += 1) await bucket.record(plugin)
  goOn?.()
  await Promise.all([first, second])
  stores.set(plugin, 'a', { value: 1 })
  await stores.release(plugin)
  assert.deepEqual(told, [])
  assert.deepEqual(sorted(await (await host(2)).stores.open(plugin)), [['a', { value: 1 }]])
})

test('values that are still being opened when the host ends are not held, and nothing is written after that', async (context) => {
  const { host } = await createFleet(context)
  const clock = createManualClock()
  let answer: (() => void) | undefined
  const silent = (bucket: ValueBucket): ValueBucket => ({
    ...bucket,
    async entries(...given) {
      await new Promise<void>((resolve) => (answer = resolve))
      return bucket.entries(...given)
    },
  })
  const { stores } = await host(1, silent, silentLogger, clock)
  const opening = stores.open(plugin)
  const refused = assert.rejects(opening, { message: /are not opened: the host ends/ })
  await until('the values to be read', async () => answer !== undefined)
  await stores.close()
  answer?.()
  await refused
  stores.set(plugin, 'late', { value: 1 })
  assert.equal(clock.waiting, 0)
})

test('what is set while a host hears that another one has the plugin is not tried again', async (context) => {
  const { host } = await createFleet(context)
  const clock = createManualClock()
  let meanwhile = () => {}
  const busy = (bucket: ValueBucket): ValueBucket => ({
    ...bucket,
    write(...given) {
      meanwhile()
      return bucket.write(...given)
    },
  })
  const { stores } = await host(1, busy, silentLogger, clock)
  await stores.open(plugin)
  await (await host(2)).stores.open(plugin)
  stores.set(plugin, 'a', { value: 1 })
  meanwhile = () => stores.set(plugin, 'b', { value: 2 })
  await stores.release(plugin)
  assert.equal(clock.waiting, 0)
})

test('what is set just when a release has written the rest waits for no write that nobody would end', async (context) => {
  const { host } = await createFleet(context)
  for (let turns = 0; turns < 30; turns += 1) {
    const clock = createManualClock()
    let late: Promise<void> | undefined
    const { stores } = await host(
      turns,
      (bucket) => ({
        ...bucket,
        async write(...given) {
          const written = await bucket.write(...given)
          late = setLater()
          return written
        },
      }),
      silentLogger,
      clock,
    )
    async function setLater() {
      for (let passed = 0; passed < turns; passed += 1) await Promise.resolve()
      stores.set(plugin, 'last', { value: turns })
    }
    await stores.open(plugin)
    stores.set(plugin, 'any', { value: turns })
    await stores.release(plugin)
    await late
    await stores.close()
    assert.equal(clock.waiting, 0, `after ${turns} turns`)
  }
})

test('an older epoch may not open what a newer one has', async (context) => {
  const { host } = await createFleet(context)
  await (await host(7)).stores.open(plugin)
  await assert.rejects((await host(6)).stores.open(plugin), {
    name: 'StoreRefusedError',
    message:
      /^The stored values of @fixtures\/a\.b-c belong to its epoch 7, and this host holds it under 6 only/,
  })
})

test('removed values are not brought back by whoever held them before', async (context) => {
  const { host } = await createFleet(context)
  const old = await host(1)
  await old.stores.open(plugin)
  fill(old.stores, 'a')
  await old.stores.release(plugin)
  await old.stores.open(plugin)
  old.stores.set(plugin, 'late', { value: 1 })
  await (await host(1)).stores.remove(plugin)
  await old.stores.release(plugin)
  assert.deepEqual({ ...(await (await host(2)).stores.open(plugin)) }, {})
})

test('what was set while the store was away is written when it is back, and is told of once', async (context) => {
  const server = await startStore(context)
  const { host } = await createFleet(context, server.url)
  const { logger, told } = recordingLogger()
  const { stores, bucket } = await host(1, undefined, logger)
  await stores.open(plugin)
  await server.stop('SIGKILL')
  stores.set(plugin, 'a', { value: 1 })
  await stores.release(plugin)
  stores.set(plugin, 'b', { value: 2 })
  await stores.release(plugin)
  assert.deepEqual(told, ['Stored values could not be written to the store of the fleet; it is tried again'])
  await server.start()
  await until('the values', async () => {
    const found = await bucket.record(plugin).catch(() => undefined)
    return found?.record !== undefined && (await bucket.entries(plugin, found.record)).has('b')
  })
  assert.equal(told.length, 1)
  assert.deepEqual(sorted(await (await host(2)).stores.open(plugin)), [
    ['a', { value: 1 }],
    ['b', { value: 2 }],
  ])
})

test('what is set right before the plugin moves is there on the next host, though the store is silent for a moment', async (context) => {
  const { host } = await createFleet(context)
  const { logger, told } = recordingLogger()
  let isSilent = false
  const electing = (bucket: ValueBucket): ValueBucket => ({
    ...bucket,
    async write(...given) {
      if (!isSilent) return bucket.write(...given)
      isSilent = false
      throw new StoreUnreachableError('no answer')
    },
  })
  const { stores } = await host(1, electing, logger)
  await stores.open(plugin)
  stores.set(plugin, 'a', { value: 1 })
  isSilent = true
  await stores.release(plugin)
  assert.deepEqual(sorted(await (await host(2)).stores.open(plugin)), [['a', { value: 1 }]])
  assert.deepEqual(told, [])
})

test('a host that ends says whose values could not be written', async (context) => {
  const { host } = await createFleet(context)
  const { logger, told } = recordingLogger()
  const clock = createManualClock()
  let isAway = false
  const failing = (bucket: ValueBucket): ValueBucket => ({
    ...bucket,
    write: (...given) => (isAway ? Promise.reject(new StoreRefusedError('no room')) : bucket.write(...given)),
  })
  const { stores } = await host(1, failing, logger, clock)
  await stores.open(plugin)
  stores.set(plugin, 'a', { value: 1 })
  isAway = true
  await stores.close()
  assert.deepEqual(told, [
    'Stored values could not be written to the store of the fleet; it is tried again',
    'Stored values could not be written to the store of the fleet: what has changed in them since is lost',
  ])
  assert.equal(clock.waiting, 0)
})

test('what could not be written before the plugin moved is lost, and a session that gets it back meanwhile keeps it', async (context) => {
  const { host } = await createFleet(context)
  let isAway = false
  const failing = (bucket: ValueBucket): ValueBucket => ({
    ...bucket,
    async write(...given) {
      if (isAway) throw new StoreUnreachableError('no answer')
      return bucket.write(...given)
    },
  })
  const haste = createHaste()
  haste.begin()
  const { stores, holding } = await host(1, failing, silentLogger, haste.clock)
  await stores.open(plugin)
  stores.set(plugin, 'a', { value: 1 })
  isAway = true
  await stores.release(plugin)
  isAway = false
  // The session ended and nobody else has taken the plugin: a new one of this host goes on.
  holding.epoch = 2
  assert.deepEqual(sorted(await stores.open(plugin)), [['a', { value: 1 }]])
  await stores.release(plugin)
  await stores.open(plugin)
  stores.set(plugin, 'b', { value: 2 })
  isAway = true
  await stores.release(plugin)
  const other = await host(3)
  assert.deepEqual(sorted(await other.stores.open(plugin)), [['a', { value: 1 }]])
  other.stores.set(plugin, 'c', { value: 3 })
  await other.stores.release(plugin)
  isAway = false
  holding.epoch = 4
  assert.deepEqual(sorted(await stores.open(plugin)), [
    ['a', { value: 1 }],
    ['c', { value: 3 }],
  ])
})

for (const isNewSession of [false, true]) {
  const under = isNewSession ? 'a new session' : 'the same session'

  test(`what waits to be written outlives a load whose first write the store takes without an answer: ${under}`, async (context) => {
    const { host } = await createFleet(context)
    const { logger, told } = recordingLogger()
    let answers: 'all' | 'none' | 'takes, and says nothing' = 'all'
    const silent = (bucket: ValueBucket): ValueBucket => ({
      ...bucket,
      async write(...given) {
        if (answers !== 'none') {
          const answer = await bucket.write(...given)
          if (answers === 'all') return answer
        }
        throw new StoreUnreachableError('no answer')
      },
    })
    const haste = createHaste()
    haste.begin()
    const { stores, holding } = await host(1, silent, logger, haste.clock)
    await stores.open(plugin)
    stores.set(plugin, 'a', { value: 1 })
    answers = 'none'
    await stores.release(plugin)
    if (isNewSession) holding.epoch = 2
    answers = 'takes, and says nothing'
    await assert.rejects(stores.open(plugin), { name: 'StoreUnreachableError' })
    answers = 'all'
    await stores.release(plugin)
    assert.deepEqual(sorted(await stores.open(plugin)), [['a', { value: 1 }]])
    await stores.close()
    assert.deepEqual(sorted(await (await host(3)).stores.open(plugin)), [['a', { value: 1 }]])
    assert.deepEqual(told, [
      'Stored values could not be written to the store of the fleet; it is tried again',
    ])
  })
}

test('tries whose record is not taken write each part once, and what they have left behind goes with the one that is', async (context) => {
  const { fleet, host } = await createFleet(context)
  let isAway = false
  let parts = 0
  let meanwhile = (): void => undefined
  const failing = (bucket: ValueBucket): ValueBucket => ({
    ...bucket,
    async putPart(...given) {
      parts += 1
      meanwhile()
      return bucket.putPart(...given)
    },
    async write(...given) {
      if (isAway) throw new StoreUnreachableError('no answer')
      return bucket.write(...given)
    },
  })
  const haste = createHaste()
  haste.begin()
  const { stores, connection, bucket } = await host(1, failing, silentLogger, haste.clock)
  await stores.open(plugin)
  fill(stores, 'a')
  isAway = true
  meanwhile = () => stores.set(plugin, 'key-7', { value: 'while it is written' })
  await stores.release(plugin)
  meanwhile = () => undefined
  const all = parts
  assert.ok(all > 1)
  await stores.release(plugin)
  // That of the value which has changed.
  assert.equal(parts, all + 1)
  await stores.release(plugin)
  assert.equal(parts, all + 1)
  stores.set(plugin, 'key-8', { value: 'after it' })
  await stores.release(plugin)
  assert.equal(parts, all + 2)
  isAway = false
  await stores.release(plugin)
  assert.equal(parts, all + 2)
  const record = await bucket.record(plugin)
  const named = bucket.partSubjects(plugin, record?.record?.parts ?? [])
  const { state } = await (await jetstreamManager(connection)).streams.info(valuesStreamName(fleet))
  assert.equal(state.messages, named.length + 1)
  const found = await (await host(2)).stores.open(plugin)
  assert.deepEqual(
    [found['key-6'], found['key-7'], found['key-8']].map((entry) => entry?.value),
    ['a'.repeat(200), 'while it is written', 'after it'],
  )
})

test('when somebody empties the bucket, the holder writes down what it has', async (context) => {
  const { fleet, host } = await createFleet(context)
  const { stores, connection } = await host(1)
  await stores.open(plugin)
  fill(stores, 'a')
  await stores.release(plugin)
  const before = await stores.open(plugin)
  await (await jetstreamManager(connection)).streams.purge(valuesStreamName(fleet))
  stores.set(plugin, 'b', { value: 2 })
  await stores.release(plugin)
  assert.deepEqual(sorted(await (await host(2)).stores.open(plugin)), sorted({ ...before, b: { value: 2 } }))
})

test('a change of one of ten thousand values writes a small part, and nothing is left of what was replaced', async (context) => {
  const { fleet, host } = await createFleet(context)
  const { stores, connection } = await host(1)
  const info = async () => (await jetstreamManager(connection)).streams.info(valuesStreamName(fleet))
  await stores.open(otherPlugin)
  for (let index = 0; index < 10_000; index += 1)
    stores.set(otherPlugin, `key-${index}`, { value: 'x'.repeat(50) })
  await stores.release(otherPlugin)
  await stores.open(otherPlugin)
  const before = await info()
  stores.set(otherPlugin, 'key-5', { value: 'y'.repeat(50) })
  await stores.release(otherPlugin)
  await stores.close()
  const after = await until('the old part to go', async () => {
    const now = await info()
    return now.state.messages === before.state.messages && now
  })
  assert.equal(after.state.last_seq - before.state.last_seq, 2)
})

test('what a holder that died has left behind is collected by the next one', async (context) => {
  const { fleet, host } = await createFleet(context)
  const dying = (bucket: ValueBucket): ValueBucket => ({
    ...bucket,
    write: (id, record, expected) =>
      record.parts === undefined
        ? bucket.write(id, record, expected)
        : Promise.reject(new StoreUnreachableError('dead')),
  })
  const { stores } = await host(1, dying)
  await stores.open(plugin)
  fill(stores, 'a')
  await stores.release(plugin)
  const next = await host(2)
  const messages = async () =>
    (await (await jetstreamManager(next.connection)).streams.info(valuesStreamName(fleet))).state.messages
  assert.ok((await messages()) > 2)
  await next.stores.open(plugin)
  await next.stores.close()
  assert.equal(await messages(), 1)
})

test('no value leaves a host without a key, and a bucket that forgets by itself is refused', async (context) => {
  const { fleet } = await createFleet(context)
  const connection = await stage.connection(context)
  await assert.rejects(openValueBucket(connection, fleet, createKeyRing([])), {
    message: /^A fleet needs HOST_SECRET_KEY_FILE, with the same key on every host/,
  })
  await openValueBucket(connection, fleet, contractRing)
  const manager = await jetstreamManager(connection)
  await manager.streams.update(valuesStreamName(fleet), { max_age: 3_600_000_000_000 })
  await assert.rejects(openValueBucket(connection, fleet, contractRing), {
    name: 'StoreRefusedError',
    message: /throws away by itself/,
  })
})
