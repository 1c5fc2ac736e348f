import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../src/base/time/clock.ts'
import { silentLogger } from '../../src/base/log/log.ts'
import { createDeferred } from '../../src/base/time/deferred.ts'
import { createExternalBus } from '../../src/bus/external/external-bus.ts'
import { waitingMessagesLimit } from '../../src/bus/external/outgoing-queue.ts'
import { createMqttProjection } from '../../src/mqtt-api/mqtt-projection.ts'
import { createBrokerReconciler } from '../../src/mqtt-api/broker-reconciler.ts'
import { soleHost } from '../../src/mqtt-api/responsibility.ts'
import { createValueTopics } from '../../src/mqtt-api/value-topics.ts'
import type { Point } from '../../src/schema/api/api.ts'
import { createTopics } from '../../src/schema/names/topics.ts'
import { startStrictBroker } from '../bus/strict-broker.ts'
import { createFakeLifecycle, type FakePlugin, pluginNamed } from '../helpers/fake-lifecycle.ts'
import { until } from '../helpers/until.ts'

const meter = '@starter/meter'
const topicOf = (id: string): string => `host/plugins/${meter}/sensors/${id}`
const pointsOf = (count: number): Point[] =>
  Array.from({ length: count }, (_, number) => ({ id: `s${number}`, value: number }))

/** Of a house with more values than may wait for a broker. */
const sensors = pointsOf(2 * waitingMessagesLimit + 7)
const allTopics = sensors.map(({ id }) => topicOf(id))

/** Retries come at once. */
const hurriedClock: typeof systemClock = {
  ...systemClock,
  schedule: (milliseconds, callback) =>
    systemClock.schedule(milliseconds >= 2_000 ? milliseconds : Math.min(milliseconds, 20), callback),
}

test('A broker that was away hears of all values of a large house, which are more than may wait for it', async (t: TestContext) => {
  const broker = await startStrictBroker(t, () => true)
  const bus = createExternalBus({ url: broker.url, root: 'host', logger: silentLogger, clock: hurriedClock })
  t.after(() => bus.close())
  const plugins = new Map<string, FakePlugin>([[meter, { plugin: pluginNamed(meter), sensors }]])
  const { lifecycle } = createFakeLifecycle(plugins)
  const projection = createMqttProjection({ lifecycle, bus, root: 'host', logger: silentLogger })
  t.after(() => projection.close())
  await bus.start()
  await projection.start()
  const isTold = (): boolean => allTopics.every((topic) => broker.topics.has(topic))
  await until('all values at the start', async () => isTold())
  broker.forget()
  broker.cut()
  await until('all values on the next connection', async () => isTold())
})

/** A reconciler with a broker that is behind when the test says so. */
function stage(points: Point[]) {
  const published: string[] = []
  const plugins = new Map<string, FakePlugin>([[meter, { plugin: pluginNamed(meter), sensors: points }]])
  const { lifecycle } = createFakeLifecycle(plugins)
  let catchUp = createDeferred<undefined>()
  let isBehind = false
  let onAsked = (): void => undefined
  const bus = {
    connected: true,
    congested(): Promise<void> | undefined {
      onAsked()
      return isBehind ? catchUp.promise : undefined
    },
    prepare: (topic: string) => (payload: Uint8Array) =>
      void published.push(`${topic.split('/').at(-1)} ${Buffer.from(payload).toString()}`),
  }
  const values = createValueTopics(meter, { bus, topics: createTopics('host') })
  let cleared = 0
  const reconcile = createBrokerReconciler({
    ...{ lifecycle, bus, responsibility: soleHost },
    publishSafeMode: () => undefined,
    showState: () => undefined,
    valuesOf: () => values,
    async clearStale() {
      cleared += 1
    },
    closed: () => false,
  })
  return {
    ...{ published, plugins, bus, values, reconcile },
    cleared: () => cleared,
    /** Resolves when the reconciler waits for the broker. */
    fallBehind(): Promise<void> {
      isBehind = true
      return new Promise((resolve) => (onAsked = resolve))
    },
    catchUp(): void {
      isBehind = false
      const { resolve } = catchUp
      catchUp = createDeferred()
      resolve(undefined)
    },
  }
}

test('What changes while the broker is behind is not overtaken by what was so before, and what has gone stays away', async () => {
  const points = pointsOf(1_200)
  const { published, plugins, values, reconcile, cleared, fallBehind, catchUp } = stage(points)
  const behind = fallBehind()
  const done = reconcile()
  await behind
  const before = published.length
  assert.ok(before > 0 && before < points.length)
  const changed = points.map((point) => (point.id === 's1100' ? { ...point, value: 'new' } : point))
  plugins.set(meter, { plugin: pluginNamed(meter), sensors: changed.filter(({ id }) => id !== 's1101') })
  values.publish('sensor', 's1100', Buffer.from('"new"'))
  catchUp()
  await done
  assert.deepEqual(
    published.filter((line) => /^s1100 |^s1101 /.test(line)),
    ['s1100 "new"', 's1100 "new"'],
  )
  // Each of the others once.
  assert.equal(published.length, points.length)
  assert.equal(cleared(), 1)
})

test('What is left of a plugin that goes while the broker is behind is not said', async () => {
  const { published, plugins, reconcile, fallBehind, catchUp } = stage(pointsOf(1_200))
  const behind = fallBehind()
  const done = reconcile()
  await behind
  const before = published.length
  plugins.delete(meter)
  catchUp()
  await done
  assert.equal(published.length, before)
})

test('Without a connection it ends, and nothing is taken for stale; a new one takes the place of one under way', async () => {
  const points = pointsOf(1_200)
  const { published, bus, values, reconcile, cleared, fallBehind, catchUp } = stage(points)
  const behind = fallBehind()
  const first = reconcile()
  await behind
  bus.connected = false
  catchUp()
  await first
  assert.equal(cleared(), 0)
  // Nothing is kept for the next connection, after which all is said.
  const before = published.length
  assert.ok(before < points.length)
  values.publish('sensor', 's0', Buffer.from('7'))
  assert.equal(published.length, before)
  bus.connected = true
  const again = fallBehind()
  const second = reconcile()
  await again
  const third = reconcile()
  catchUp()
  await Promise.all([second, third])
  assert.equal(cleared(), 1)
  assert.deepEqual(new Set(published.map((line) => line.split(' ')[0])).size, points.length)
})
