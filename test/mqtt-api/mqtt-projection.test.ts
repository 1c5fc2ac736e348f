import { serializeJson } from '../../src/base/text/serialized-json.ts'
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createMqttProjection } from '../../src/mqtt-api/mqtt-projection.ts'
import type { Responsibility } from '../../src/mqtt-api/responsibility.ts'
import type { JournalEventView } from '../../src/schema/journal/journal-event.ts'
import type { Plugin } from '../../src/schema/plugin/plugin.ts'
import { collectFromBus, createRecordingLogger, startBus, textOf } from '../bus/bus-fixture.ts'
import { createFakeLifecycle, pluginNamed, type FakePlugin } from '../helpers/fake-lifecycle.ts'

const clock = '@starter/clock'
const base = `host/plugins/${clock}`

async function start(t: TestContext, plugin: Partial<FakePlugin> = {}, responsibility?: Responsibility) {
  const bus = await startBus(t)
  const logger = createRecordingLogger()
  const plugins = new Map<string, FakePlugin>([[clock, { plugin: pluginNamed(clock), ...plugin }]])
  const fake = createFakeLifecycle(plugins)
  const projection = createMqttProjection({
    ...{ lifecycle: fake.lifecycle, bus, root: 'host', logger },
    ...(responsibility === undefined ? {} : { responsibility }),
  })
  t.after(() => projection.close())
  projection.follow()

  /** All that is retained below the plugins' topics, sorted. */
  async function retained(): Promise<string[]> {
    const snapshot = await collectFromBus(bus, 'host/plugins/#')
    await bus.publish('host/plugins/end', '')
    for (let count = 1; ; count += 1) {
      const last = (await snapshot.take(count)).at(-1)
      if (last?.topic === 'host/plugins/end') break
    }
    await snapshot.subscription.close()
    // The host may be looking, too, and marks where that ends.
    return snapshot.all
      .filter((message) => message.retained)
      .map(textOf)
      .sort()
  }

  return { bus, logger, plugins, projection, retained, ...fake }
}

function lifecycleEvent(type: string, state: Plugin['state'], seq: number): JournalEventView {
  return {
    seq,
    id: `event-${seq}`,
    at: '2024-01-01T00:00:00.000Z',
    type,
    plugin: clock,
    revision: seq,
    by: 'http',
    data: {},
    state,
    host: null,
    epoch: null,
  } as JournalEventView
}

const stateText = (state: string, seq: number, rest: Partial<Plugin> = {}): string => {
  const { enabled = true, version = '1.0.0', error = null, host = null, epoch = null } = rest
  return `${base}/state ${JSON.stringify({ state, enabled, version, error, host, epoch, seq })}`
}

test('At the start everything that is true is retained, and what is not true any more is cleared', async (t) => {
  const { bus, projection, retained } = await start(t, {
    objects: { 'weather.now': { value: 21 } },
    sensors: [
      { id: 'temperature', value: 21.5 },
      { id: 'not/read yet', value: null },
    ],
    controls: [{ id: 'lamp', value: false }],
  })
  for (const topic of [
    `${base}/objects/gone`,
    `${base}/sensors/temperature`,
    `${base}/events/kept`,
    `${base}/controls/lamp/set`,
    'host/plugins/@old/one/state',
    'host/plugins/@old/one/events/x',
    'host/plugins/@old/one/controls/x/set',
  ]) {
    await bus.publish(topic, '"old"', { retain: true })
  }
  await projection.start()
  const expected = [
    `${base}/controls/lamp false`,
    `${base}/controls/lamp/set "old"`,
    `${base}/events/kept "old"`,
    `${base}/objects/weather.now {"value":21}`,
    `${base}/sensors/temperature 21.5`,
    stateText('running', 7),
  ]
  // What is stale goes after what the broker has retained was read, which takes a few turns.
  const cleared = await collectFromBus(bus, 'host/plugins/+/one/#')
  await cleared.take(3)
  assert.deepEqual(await retained(), expected)
})

test('What happens is published as it happens, in order', async (t) => {
  const { bus, projection, announce, plugins } = await start(t)
  await projection.start()
  const received = await collectFromBus(bus, '#')
  await received.take(2)
  const entry = { at: '2024-01-01T00:00:00.000Z', level: 'info', message: 'tick', fields: { a: 1 } } as const
  announce({ kind: 'lifecycle', event: lifecycleEvent('PluginLoadRequested', 'loading', 8) })
  announce({ kind: 'object', plugin: clock, path: 'now', value: serializeJson({ hour: 12 }) })
  announce({ kind: 'control', plugin: clock, id: 'lamp', value: undefined, removed: false })
  announce({ kind: 'control', plugin: clock, id: 'lamp', value: serializeJson(true), removed: false })
  announce({ kind: 'control', plugin: clock, id: 'lamp', value: undefined, removed: false })
  announce({ kind: 'sensor', plugin: clock, id: 'a+b', value: serializeJson('x'), removed: false })
  announce({ kind: 'log', plugin: clock, line: serializeJson(entry) })
  announce({
    kind: 'event',
    plugin: clock,
    name: 'hour:full',
    data: serializeJson({ h: 1 }),
    qos: 0,
    retain: false,
  })
  announce({
    kind: 'event',
    plugin: clock,
    name: 'a/b',
    data: serializeJson(null),
    qos: 1,
    retain: true,
  })
  announce({ kind: 'object', plugin: clock, path: 'now', value: undefined })
  announce({ kind: 'object', plugin: clock, path: 'never there', value: undefined })
  announce({ kind: 'sensor', plugin: clock, id: 'a+b', value: undefined, removed: true })
  const error = { code: 'lua_error', message: 'broken', at: '2024-01-01T00:00:00.000Z' }
  plugins.set(clock, { plugin: pluginNamed(clock, { state: 'failed', error }) })
  announce({ kind: 'lifecycle', event: lifecycleEvent('PluginCrashed', 'failed', 9) })
  plugins.delete(clock)
  announce({ kind: 'lifecycle', event: lifecycleEvent('PluginUninstalled', 'uninstalled', 10) })
  const after = [
    `host/lifecycle ${JSON.stringify(lifecycleEvent('PluginLoadRequested', 'loading', 8))}`,
    stateText('loading', 8),
    `${base}/objects/now {"hour":12}`,
    `${base}/controls/lamp true`,
    `${base}/controls/lamp null`,
    `${base}/sensors/a%2Bb "x"`,
    `${base}/log ${JSON.stringify(entry)}`,
    `${base}/events/hour:full {"h":1}`,
    `${base}/events/a%2Fb null`,
    `${base}/objects/now `,
    `${base}/sensors/a%2Bb `,
    `host/lifecycle ${JSON.stringify(lifecycleEvent('PluginCrashed', 'failed', 9))}`,
    // A plugin that is not loaded has no values, whoever forgot to say so.
    `${base}/controls/lamp `,
    stateText('failed', 9, { error }),
    `host/lifecycle ${JSON.stringify(lifecycleEvent('PluginUninstalled', 'uninstalled', 10))}`,
    `${base}/state `,
  ]
  const messages = await received.take(after.length + 2)
  assert.deepEqual(messages.slice(2).map(textOf), after)
  const qosOf = (topic: string) => messages.find((message) => message.topic === topic)?.qos
  assert.deepEqual(
    ['host/lifecycle', `${base}/events/hour:full`, `${base}/events/a%2Fb`].map(qosOf),
    [1, 0, 1],
  )
})

test('None of the host’s words about a plugin is left retained when it is uninstalled', async (t) => {
  const { projection, announce, plugins, retained } = await start(t, { objects: { a: 1 } })
  await projection.start()
  announce({ kind: 'sensor', plugin: clock, id: 's', value: serializeJson(1), removed: false })
  assert.equal((await retained()).length, 3)
  plugins.delete(clock)
  announce({ kind: 'lifecycle', event: lifecycleEvent('PluginUninstalled', 'uninstalled', 8) })
  assert.deepEqual(await retained(), [])
})

test('In a fleet, what a host that is cut off leaves of a plugin goes all the same when the plugin is uninstalled', async (t) => {
  const responsibility: Responsibility = {
    owns: () => false,
    isResponsibleFor: () => false,
    isCoordinator: () => true,
  }
  const { bus, projection, announce, plugins } = await start(t, {}, responsibility)
  await projection.start()
  const left = [`${base}/sensors/temperature`, `${base}/state`]
  for (const topic of left) await bus.publish(topic, '1', { retain: true })
  const received = await collectFromBus(bus, `${base}/#`)
  await received.take(left.length)
  plugins.delete(clock)
  announce({ kind: 'lifecycle', event: lifecycleEvent('PluginUninstalled', 'uninstalled', 9) })
  const cleared = (await received.take(2 * left.length)).slice(left.length)
  assert.deepEqual(
    cleared.map(({ topic, payload }) => [topic, payload.length]),
    left.map((topic) => [topic, 0]),
  )
})

test('After closing nothing is listened to any more', async (t) => {
  const { projection, listeners } = await start(t)
  await projection.start()
  assert.equal(listeners.size, 1)
  await Promise.all([projection.close(), projection.close()])
  assert.equal(listeners.size, 0)
})
