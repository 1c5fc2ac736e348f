import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Clock, systemClock } from '../../../src/base/time/clock.ts'
import { serializeJson } from '../../../src/base/text/serialized-json.ts'
import { silentLogger } from '../../../src/base/log/log.ts'
import type { Bus } from '../../../src/bus/bus.ts'
import { createAnnouncements } from '../../../src/lifecycle/running/announcements.ts'
import { createEventHub } from '../../../src/lifecycle/running/event-hub.ts'
import { createHookRegistry } from '../../../src/lifecycle/running/hook-registry.ts'
import { createExposureRegistry } from '../../../src/lifecycle/running/exposure-registry.ts'
import type { KeyValueStores } from '../../../src/schema/files/key-value-stores.ts'
import type { RetainedTopics } from '../../../src/lifecycle/stores/retained-topics.ts'
import { createObjectRegistry } from '../../../src/lifecycle/running/object-registry.ts'
import { createPluginEffects } from '../../../src/lifecycle/running/plugin-effects.ts'
import { createHostLogShare } from '../../../src/lifecycle/running/host-log-share.ts'
import { createPluginLogs } from '../../../src/lifecycle/running/plugin-logs.ts'
import type { Outside } from '../../../src/outside/outside.ts'
import type { Isolate, IsolateServices, Sandbox } from '../../../src/sandbox/isolate.ts'
import type { HookRequest } from '../../../src/schema/outside/hook.ts'
import type { Exposure } from '../../../src/schema/plugin/exposure.ts'
import { noResources } from '../../../src/schema/plugin/plugin.ts'
import { defaultPluginLimits } from '../../../src/schema/plugin/plugin-limits.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

const id = '@test/probe'
const never = (): never => assert.fail('nobody asked for that')

/** A plugin whose worker is the test, and the broker's subscriptions by filter. `ready`: when the worker has loaded it. */
function stage(ready: Promise<void> = Promise.resolve(), clock: Clock = systemClock) {
  const open = new Map<string, number>()
  let services: IsolateServices | undefined
  let unloads = 0
  const count = (filter: string, change: number): void =>
    void open.set(filter, (open.get(filter) ?? 0) + change)
  const isolate: Partial<Isolate> = {
    resources: () => ({ ...noResources }),
    unload: () => Promise.resolve(void (unloads += 1)),
    ended: new Promise(() => undefined),
  }
  const sandbox: Partial<Sandbox> = {
    limits: defaultPluginLimits,
    load(_source, given) {
      services = given
      return ready.then(() => isolate as Isolate)
    },
  }
  const bus: Partial<Bus> = {
    causedBy: (_cause, task) => task(),
    subscribe(filter) {
      count(filter, 1)
      return Promise.resolve({
        close() {
          count(filter, -1)
          return Promise.resolve()
        },
      })
    },
  }
  const stores: Partial<KeyValueStores> = {
    open: () => Promise.resolve({}),
    release: () => Promise.resolve(),
  }
  const registry = createObjectRegistry()
  const exposures = createExposureRegistry()
  const events = createEventHub()
  const hooks = createHookRegistry()
  const announcements = createAnnouncements(silentLogger)
  const forgotten: string[] = []
  const retained: Partial<RetainedTopics> = { entries: () => [], release: () => Promise.resolve() }
  const effects = createPluginEffects({
    sandbox: sandbox as Sandbox,
    bus: bus as Bus,
    outside: { forget: (plugin) => void forgotten.push(plugin) } as Partial<Outside> as Outside,
    root: 'host',
    announces: () => undefined,
    clock,
    logger: silentLogger,
    events,
    registry,
    exposures,
    hooks,
    hookSecret: never,
    hookBase: never,
    logs: createPluginLogs(createHostLogShare(silentLogger, systemClock)),
    stores: stores as KeyValueStores,
    retained: retained as RetainedTopics,
    announcements,
    onCrash: never,
    onEvicted: never,
    onMoveAway: never,
    onLimit: never,
    installedIds: never,
    owns: () => true,
    listPlugins: never,
  })
  const manifest = { id, name: 'Probe', version: '1.0.0' }
  const installed = { manifest, files: {}, integrity: {}, changed: [] } as unknown as Parameters<
    typeof effects.load
  >[0]['installed']
  const { signal } = new AbortController()
  const load = (): Promise<void> =>
    effects.load({ id, installed, config: {}, secrets: [], limits: {} }, signal)
  const shown = { registry, exposures, events, hooks, announcements, forgotten }
  return { effects, load, open, ...shown, services: () => services, unloads: () => unloads }
}

async function loaded(clock?: Clock) {
  const { load, services, ...others } = stage(undefined, clock)
  await load()
  const given = services()
  assert.ok(given !== undefined)
  return { ...others, services: given }
}

const exposure: Exposure = {
  component: 'sensor',
  type: 'sensor',
  name: 'Late',
  features: ['value'],
  writable: [],
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('a subscription whose number is used again is closed, and the new one at the unload', async () => {
  const { effects, services, open } = await loaded()
  services.subscribeTopic({ kind: 'subscribeTopic', subscription: 1, filter: 'first' })
  services.subscribeTopic({ kind: 'subscribeTopic', subscription: 1, filter: 'second' })
  services.subscribeTopic({ kind: 'subscribeTopic', subscription: 2, filter: 'third' })
  await settled()
  assert.deepEqual(Object.fromEntries(open), { first: 0, second: 1, third: 1 })
  services.unsubscribeTopic({ kind: 'unsubscribeTopic', subscription: 2 })
  await settled()
  assert.deepEqual(Object.fromEntries(open), { first: 0, second: 1, third: 0 })
  services.subscribeTopic({ kind: 'subscribeTopic', subscription: 1, filter: 'fourth' })
  await effects.unload(id)
  assert.deepEqual(Object.fromEntries(open), { first: 0, second: 0, third: 0, fourth: 0 })
})

test('events that a plugin does not listen to any more have no listener, and none when it has been unloaded', async () => {
  const { effects, services, events, forgotten } = await loaded()
  for (const name of ['a', 'b', 'c:*']) services.subscribeEvent({ kind: 'subscribeEvent', name })
  services.unsubscribeEvent({ kind: 'unsubscribeEvent', name: 'a' })
  assert.deepEqual(events.names(), ['b', 'c:*'])
  assert.deepEqual(forgotten, [])
  await effects.unload(id)
  assert.deepEqual([events.names(), events.emit('c:d', serializeJson(1), '@test/other')], [[], 0])
  // With its cookies, and the devices that it alone has asked.
  assert.deepEqual(forgotten, [id])
})

test('a schedule that is being read while its plugin ends does not stay', async () => {
  const clock = createManualClock()
  const { effects, services } = await loaded(clock)
  const schedule = { kind: 'cron', expression: '0 0 1 1 *' } as const
  const asked = services.setSchedule({ kind: 'setSchedule', number: 1, schedule })
  await effects.unload(id)
  assert.equal(await asked, 'the plugin has ended')
  assert.equal(clock.waiting, 0)
})

test('a plugin that is unloaded while it is being loaded ends when it has been loaded: nobody would know of it', async () => {
  let finish = (): void => undefined
  const { effects, load, unloads } = stage(new Promise((resolve) => (finish = resolve)))
  const loading = load()
  await settled()
  await effects.unload(id)
  finish()
  await assert.rejects(loading, /unloaded while it was being loaded/)
  assert.deepEqual([unloads(), effects.isLoaded(id)], [1, false])
})

test('of a plugin that is loaded twice at once the later one stays', async () => {
  let finish = (): void => undefined
  const { effects, load, unloads } = stage(new Promise((resolve) => (finish = resolve)))
  const first = load()
  const second = load()
  finish()
  await assert.rejects(first)
  await second
  assert.deepEqual([unloads(), effects.isLoaded(id)], [1, true])
})

test('of a plugin that is loaded already the earlier one ends: both would act, and nobody could end it', async () => {
  const { effects, load, unloads } = stage()
  await load()
  await load()
  assert.deepEqual([unloads(), effects.isLoaded(id)], [1, true])
})

test('a request from outside that waits for a plugin to be loaded is told at once that this has failed', async () => {
  let fail = (_error: Error): void => undefined
  const { effects, load } = stage(new Promise((_resolve, reject) => (fail = reject)))
  const loading = load()
  await settled()
  const request: HookRequest = { method: 'GET', query: '', headers: [], body: new Uint8Array(), remote: '' }
  const asked = effects.takeHook(id, 1, request, new AbortController().signal)
  fail(new Error('onInit raised'))
  await assert.rejects(loading, /onInit raised/)
  const pending = { ok: true, reason: 'pending' }
  assert.deepEqual(await Promise.race([asked, settled().then(() => pending)]), { ok: false, reason: 'ended' })
})

test('what a plugin shows while it ends, after another host has it, does not stay here', async () => {
  let fail = (_error: Error): void => undefined
  const { effects, load, registry, exposures, services } = stage(
    new Promise((_resolve, reject) => (fail = reject)),
  )
  const loading = load()
  await settled()
  services()?.setValue('object', 'early', serializeJson(1))
  await effects.unload(id, { staysShown: true })
  // What its worker had said before it was ended is still taken in.
  services()?.setValue('object', 'late', serializeJson(2))
  services()?.removeValue({ kind: 'removeValue', of: 'object', id: 'late' })
  services()?.setExposure({ kind: 'setExposure', id: 'late', exposure })
  fail(new Error('the load was ended'))
  await assert.rejects(loading, /the load was ended/)
  assert.deepEqual([[...registry.values(id, 'object')], exposures.list(id)], [[], []])
})

for (const staysShown of [false, true]) {
  const told = staysShown
    ? 'is not told as gone where another host runs it next'
    : 'is told as gone to everybody'
  test(`what a plugin shows when it ends ${told}, and none of it stays here`, async () => {
    const { effects, services, announcements, registry, exposures, hooks } = await loaded()
    for (const name of ['kept', 'taken back']) {
      services.setValue('object', name, serializeJson(1))
      services.setExposure({ kind: 'setExposure', id: name, exposure })
    }
    services.setHttpHandler({
      kind: 'setHttpHandler',
      handler: 1,
      hook: { path: 'a', auth: 'token' },
    })
    const gone: string[] = []
    announcements.subscribe((one) => {
      if (one.kind === 'object' && one.value === undefined) gone.push(`object ${one.path}`)
      if (one.kind === 'exposure' && one.exposure === undefined) gone.push(`exposure ${one.id}`)
    })
    const unloaded = effects.unload(id, { staysShown })
    // As its worker does, while it ends.
    services.removeValue({ kind: 'removeValue', of: 'object', id: 'taken back' })
    services.removeExposure({ kind: 'removeExposure', id: 'taken back' })
    await unloaded
    const all = ['object taken back', 'exposure taken back', 'object kept', 'exposure kept']
    assert.deepEqual(gone, staysShown ? [] : all)
    const left = [[...registry.values(id, 'object')], exposures.list(id), hooks.all(id)]
    assert.deepEqual(left, [[], [], []])
  })
}
