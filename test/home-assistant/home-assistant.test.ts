import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Bus } from '../../src/bus/bus.ts'
import { createHomeAssistant, type HomeAssistantSettings } from '../../src/home-assistant/home-assistant.ts'
import { foreignBytesLimit } from '../../src/home-assistant/published-devices.ts'
import type { Exposure } from '../../src/schema/plugin/exposure.ts'
import type { PluginState } from '../../src/schema/plugin/plugin.ts'
import { collectFromBus, connect, createRecordingLogger, startBus } from '../bus/bus-fixture.ts'
import { createFakeLifecycle, pluginNamed, type FakePlugin } from '../helpers/fake-lifecycle.ts'
import { createManualClock } from '../helpers/manual-clock.ts'

const lamp = '@acme/lamp'
const topic = 'homeassistant/device/home_acme_lamp/config'
const sensor: Exposure = { component: 'sensor', type: 'sensor', name: 'S', features: ['value'], writable: [] }
const light: Exposure = {
  component: 'light',
  type: 'light',
  name: 'L',
  features: ['state'],
  writable: ['state'],
}

const exposing = (exposures: Record<string, Exposure>): FakePlugin => ({
  plugin: pluginNamed(lamp),
  exposures: Object.entries(exposures).map(([id, exposure]) => ({ id, exposure, state: {} })),
})

/** A host with these plugins on a real broker, and all that is published below the discovery prefix. */
async function stage(
  t: TestContext,
  plugins: Record<string, FakePlugin>,
  use?: Bus,
  more: Pick<HomeAssistantSettings, 'responsibility'> = {},
) {
  const bus = use ?? (await startBus(t))
  const known = new Map(Object.entries(plugins))
  const fake = createFakeLifecycle(known)
  const logger = createRecordingLogger()
  const clock = createManualClock()
  const homeAssistant = createHomeAssistant({
    lifecycle: fake.lifecycle,
    bus,
    root: 'host',
    prefix: 'homeassistant',
    hostId: 'home',
    hostVersion: '1.0.0',
    clock,
    logger,
    ...more,
  })
  t.after(() => homeAssistant.close())
  const received = await collectFromBus(bus, 'homeassistant/#')
  /** What was published so far: the topic, and `-` or the components with their platforms. */
  async function published(): Promise<[string, string][]> {
    // Messages arrive in order: what was published before this one is there when it is.
    const count = received.all.length
    await bus.publish('homeassistant/mark', 'x')
    for (let seen = count; ; seen += 1) {
      const all = await received.take(seen + 1)
      if (all.at(-1)?.topic === 'homeassistant/mark') break
    }
    return received.all
      .filter((message) => message.topic.endsWith('/config'))
      .map(({ topic: at, payload }) => {
        const text = Buffer.from(payload).toString()
        if (text === '') return [at, '-']
        const { cmps } = JSON.parse(text) as { cmps: Record<string, { p: string; unique_id?: string }> }
        const shown = Object.entries(cmps).map(
          ([key, { p, unique_id }]) => `${key}:${p}${unique_id ? '' : '!'}`,
        )
        return [at, shown.join(' ')]
      })
  }
  function become(
    id: string,
    state: PluginState | undefined,
    exposures: Record<string, Exposure> = {},
  ): void {
    const present = known.get(id)
    if (state === undefined || present === undefined) known.delete(id)
    else known.set(id, { ...exposing(exposures), plugin: { ...present.plugin, state } })
    fake.announce({
      kind: 'lifecycle',
      event: {
        seq: 1,
        id: 'x',
        at: '',
        type: 'PluginLoaded',
        plugin: id,
        revision: 1,
        by: 'http',
        data: {},
        state,
      } as never,
    })
  }
  function change(id: string, exposures: Record<string, Exposure>): void {
    known.set(id, { ...exposing(exposures), plugin: known.get(id)?.plugin ?? pluginNamed(id) })
    for (const [exposed, exposure] of Object.entries(exposures))
      fake.announce({ kind: 'exposure', plugin: id, id: exposed, exposure })
    if (Object.keys(exposures).length === 0)
      fake.announce({ kind: 'exposure', plugin: id, id: 'any', exposure: undefined })
  }
  return { ...fake, bus, homeAssistant, known, logger, clock, published, become, change, received }
}

test('A plugin is discovered once, and not again while nothing changes', async (t) => {
  const { homeAssistant, published, become, change } = await stage(t, {
    [lamp]: exposing({ a: sensor, b: light }),
  })
  await homeAssistant.start()
  change(lamp, { a: sensor, b: light })
  become(lamp, 'running', { a: sensor, b: light })
  await Promise.resolve()
  assert.deepEqual(await published(), [[topic, 'a:sensor b:light']])
})

test('A plugin that exposes nothing, or does not run, is not discovered', async (t) => {
  const { homeAssistant, published } = await stage(t, {
    '@acme/quiet': { plugin: pluginNamed('@acme/quiet') },
    [lamp]: { ...exposing({ a: sensor }), plugin: pluginNamed(lamp, { state: 'failed' }) },
  })
  await homeAssistant.start()
  assert.deepEqual(await published(), [])
})

test('Every way in which a plugin ends clears its device', async (t) => {
  const off = pluginNamed(lamp, { enabled: false, error: { code: 'lua_error', message: 'x', at: '' } })
  for (const state of ['unloading', 'unloaded', 'installed', 'failed', undefined] as const) {
    const { homeAssistant, published, become, known } = await stage(t, { [lamp]: exposing({ a: sensor }) })
    await homeAssistant.start()
    known.set(lamp, { plugin: { ...off, enabled: state === 'failed' } })
    become(lamp, state)
    await Promise.resolve()
    assert.deepEqual(
      await published(),
      [
        [topic, 'a:sensor'],
        [topic, '-'],
      ],
      state,
    )
  }
})

test('A plugin that is on and not loaded at the start, as in safe mode, stays a device', async (t) => {
  const bus = await startBus(t)
  const before = await stage(t, { [lamp]: exposing({ a: sensor }) }, bus)
  await before.homeAssistant.start()
  await before.published()
  await before.homeAssistant.close()
  const waiting = { plugin: pluginNamed(lamp, { state: 'unloaded', enabled: true }) }
  const { homeAssistant, published } = await stage(t, { [lamp]: waiting }, bus)
  await homeAssistant.start()
  assert.deepEqual(await published(), [[topic, 'a:sensor']])
})

test('A reload with the same outcome says nothing, so that Home Assistant keeps the device', async (t) => {
  const { homeAssistant, published, become, change } = await stage(t, { [lamp]: exposing({ a: sensor }) })
  await homeAssistant.start()
  become(lamp, 'unloading')
  change(lamp, {})
  await Promise.resolve()
  become(lamp, 'loading')
  await Promise.resolve()
  become(lamp, 'running', { a: sensor })
  await Promise.resolve()
  assert.deepEqual(await published(), [[topic, 'a:sensor']])
})

test('What is exposed no more is taken away by name, and the last of it with the device', async (t) => {
  const { homeAssistant, published, change } = await stage(t, { [lamp]: exposing({ a: sensor, b: light }) })
  await homeAssistant.start()
  change(lamp, { b: light })
  await Promise.resolve()
  change(lamp, { b: { ...light, component: 'binary_sensor' } })
  await Promise.resolve()
  change(lamp, {})
  await Promise.resolve()
  assert.deepEqual(await published(), [
    [topic, 'a:sensor b:light'],
    [topic, 'b:light a:sensor!'],
    [topic, 'b:light'],
    [topic, 'b:light!'],
    [topic, 'b:binary_sensor'],
    [topic, '-'],
  ])
})

test('Home Assistant that says it is online hears everything again, however often it says so; what it says else is ignored', async (t) => {
  const { homeAssistant, published, bus, clock } = await stage(t, { [lamp]: exposing({ a: sensor }) })
  await bus.publish('homeassistant/status', 'online', { retain: true })
  await homeAssistant.start()
  assert.deepEqual(await published(), [[topic, 'a:sensor']])
  const client = await connect(t, bus.url)
  for (const word of ['offline', 'ON', 'online', 'online', 'online'])
    await client.publishAsync('homeassistant/status', word, { qos: 1 })
  const birth = await collectFromBus(bus, 'homeassistant/status')
  await birth.take(1)
  assert.deepEqual(await published(), Array(2).fill([topic, 'a:sensor']))
  for (let times = 0; times < 2; times += 1) {
    clock.advance(5_000)
    assert.deepEqual(await published(), Array(3).fill([topic, 'a:sensor']))
  }
})

test('A broker that was away hears everything again: it may have lost what it retained', async (t) => {
  const reconnected: (() => void)[] = []
  const onReconnect = (listener: () => void): (() => void) => {
    reconnected.push(listener)
    return () => void reconnected.splice(reconnected.indexOf(listener), 1)
  }
  const bus: Bus = Object.assign(Object.create(await startBus(t)) as Bus, { onReconnect })
  const { homeAssistant, published } = await stage(t, { [lamp]: exposing({ a: sensor }) }, bus)
  await homeAssistant.start()
  assert.deepEqual(await published(), [[topic, 'a:sensor']])
  for (const listener of reconnected) listener()
  assert.deepEqual(await published(), Array(2).fill([topic, 'a:sensor']))
  await homeAssistant.close()
  assert.deepEqual(reconnected, [])
})

test('A start clears the devices of this host that belong to nothing, and no one else’s', async (t) => {
  const bus = await startBus(t, { root: 'elsewhere' })
  const of = (host: string, plugin: string, cmps: object): string =>
    JSON.stringify({ dev: { ids: [`lupine_${host}_${plugin}`] }, cmps })
  const gone = 'homeassistant/device/home_acme_gone/config'
  for (const [at, text] of [
    [gone, of('home', '@acme/gone', { x: { p: 'sensor' } })],
    ['homeassistant/device/home_2_acme_other/config', of('home_2', '@acme/other', { x: { p: 'sensor' } })],
    ['homeassistant/device/home_zigbee/config', JSON.stringify({ dev: { ids: ['0x01'] }, cmps: {} })],
    ['homeassistant/device/home_nonsense/config', 'nonsense'],
  ] as const) {
    await bus.publish(at, text, { retain: true })
  }
  const { homeAssistant, received } = await stage(t, { [lamp]: exposing({ a: sensor }) }, bus)
  await homeAssistant.start()
  // Four that were retained, the new device, and the one that is cleared.
  const all = await received.take(6)
  const fresh = all
    .filter(({ retained }) => !retained)
    .map(({ topic: at, payload }) => [at, payload.length === 0])
  assert.deepEqual(
    fresh.sort(),
    [
      [gone, true],
      [topic, false],
    ].sort(),
  )
})

test('What is said on topics of devices meanwhile is not read, by a host of a fleet neither: others may say megabytes', async (t) => {
  const bus = await startBus(t)
  let read = 0
  /** The same bytes, of which it is counted how often somebody looks at them. */
  function counted(payload: Uint8Array): Uint8Array {
    const get = (): number => {
      read += 1
      return payload.length
    }
    return Object.defineProperty(Uint8Array.from(payload), 'length', { get })
  }
  const counting: Bus = Object.assign(Object.create(bus) as Bus, {
    subscribe: ((filter, listener, options) =>
      filter.startsWith('homeassistant/device/')
        ? bus.subscribe(
            filter,
            (message) => listener({ ...message, payload: counted(message.payload) }),
            options,
          )
        : bus.subscribe(filter, listener, options)) satisfies Bus['subscribe'],
  })
  const say = (plugin: string) =>
    bus.publish(
      'homeassistant/device/other/config',
      `{"dev":{"ids":["lupine_home_${plugin}"]},"cmps":{"${'x'.repeat(100_000)}":{"p":"light"}}}`,
      { retain: true },
    )
  const alone = await stage(t, {}, counting)
  await alone.homeAssistant.start()
  await say(lamp)
  await alone.published()
  assert.equal(read, 0)
  const responsibility = { owns: () => false, isCoordinator: () => false }
  const other = await stage(t, {}, counting, { responsibility })
  await other.homeAssistant.start()
  await other.published()
  assert.ok(read > 0, 'what was retained before is read')
  read = 0
  await say(lamp)
  await other.published()
  assert.equal(read, 0)
})

test('What another host of the fleet announces while this one is there is known when the plugin comes here', async (t) => {
  const bus = await startBus(t)
  const plugins = { [lamp]: exposing({ a: sensor, b: light }) }
  const isCoordinator = (): boolean => false
  let isOwned = false
  const responsibility = { owns: () => isOwned, isCoordinator }
  const { homeAssistant, published, become } = await stage(t, plugins, bus, { responsibility })
  await homeAssistant.start()
  const former = await stage(t, plugins, bus, { responsibility: { owns: () => true, isCoordinator } })
  await former.homeAssistant.start()
  assert.deepEqual(await published(), [[topic, 'a:sensor b:light']])
  await former.homeAssistant.close()
  isOwned = true
  become(lamp, 'running', { a: sensor })
  await Promise.resolve()
  assert.deepEqual((await published()).slice(1), [
    [topic, 'a:sensor b:light!'],
    [topic, 'a:sensor'],
  ])
})

test('What another host has announced is read again where others have announced more than is kept', async (t) => {
  const bus = await startBus(t)
  const plugins = { [lamp]: exposing({ a: sensor, b: light }) }
  const isCoordinator = (): boolean => false
  let isOwned = false
  const responsibility = { owns: () => isOwned, isCoordinator }
  const { homeAssistant, published, become, logger } = await stage(t, plugins, bus, { responsibility })
  await homeAssistant.start()
  const former = await stage(t, plugins, bus, { responsibility: { owns: () => true, isCoordinator } })
  await former.homeAssistant.start()
  assert.deepEqual(await published(), [[topic, 'a:sensor b:light']])
  await former.homeAssistant.close()
  const size = 1024 * 1024
  for (let index = 0; index * size <= foreignBytesLimit; index += 1)
    await bus.publish(
      `homeassistant/device/other_${index}/config`,
      `{"dev":{"ids":["lupine_home_@acme/other/${index}"]},"cmps":{"${'x'.repeat(size)}":{"p":"light"}}}`,
    )
  const before = (await published()).length
  isOwned = true
  become(lamp, 'running', { a: sensor })
  let shown: [string, string][] = []
  for (let round = 0; round < 100 && shown.length < 2; round += 1) shown = (await published()).slice(before)
  assert.deepEqual(shown, [
    [topic, 'a:sensor b:light!'],
    [topic, 'a:sensor'],
  ])
  assert.equal(
    logger.lines.filter(({ message }) => /announce more to Home Assistant/.test(message)).length,
    1,
  )
})

test('After a restart what is gone meanwhile is taken away by name', async (t) => {
  const bus = await startBus(t, { root: 'elsewhere' })
  const first = await stage(t, { [lamp]: exposing({ a: sensor, b: light }) }, bus)
  await first.homeAssistant.start()
  await first.homeAssistant.close()
  const second = await stage(t, { [lamp]: exposing({ b: light }) }, bus)
  await second.homeAssistant.start()
  // The broker may hand the old device out before or after the new one is published.
  const isTold = (shown: string[]): boolean => {
    const at = shown.indexOf('b:light a:sensor!')
    return at >= 0 && shown.slice(at).includes('b:light')
  }
  let seen: string[] = []
  for (let round = 0; round < 100 && !isTold(seen); round += 1)
    seen = (await second.published()).map(([, shown]) => shown)
  assert.ok(isTold(seen), seen.join(', '))
  assert.equal(seen.filter((shown) => shown === '-').length, 0)
})

test('Two plugins that Home Assistant could not tell apart do not overwrite each other, and one that is left takes the place', async (t) => {
  const { homeAssistant, published, become, logger } = await stage(t, {
    '@acme/lamp.a': { ...exposing({ a: sensor }), plugin: pluginNamed('@acme/lamp.a') },
    '@acme/lamp_a': { ...exposing({ b: sensor }), plugin: pluginNamed('@acme/lamp_a') },
  })
  await homeAssistant.start()
  assert.deepEqual(await published(), [['homeassistant/device/home_acme_lamp_a/config', 'a:sensor']])
  assert.deepEqual(
    logger.lines.map(({ level, message }) => [level, message]),
    [['warn', 'Home Assistant cannot tell two plugins apart; the second one is not shown']],
  )
  become('@acme/lamp.a', undefined)
  await Promise.resolve()
  const at = 'homeassistant/device/home_acme_lamp_a/config'
  assert.deepEqual((await published()).slice(1), [
    [at, '-'],
    [at, 'b:sensor'],
  ])
})

/** The `unique_id` of every component that is announced last on each topic. */
async function uniqueIds({ published, received }: Awaited<ReturnType<typeof stage>>) {
  await published()
  const last = new Map<string, unknown[]>()
  for (const { topic: at, payload } of received.all) {
    if (!at.endsWith('/config')) continue
    const text = Buffer.from(payload).toString()
    const { cmps = {} } = (text === '' ? {} : JSON.parse(text)) as {
      cmps?: Record<string, { unique_id?: string }>
    }
    last.set(
      at,
      Object.values(cmps).map(({ unique_id }) => unique_id),
    )
  }
  return Object.fromEntries(last)
}

test('Entities of two plugins whose names and ids are written alike are two, and which is which stays so after a restart', async (t) => {
  const bus = await startBus(t, { root: 'elsewhere' })
  const other = '@acme/lamp_hall'
  const older: FakePlugin = {
    ...exposing({ hall_on: light, b: sensor }),
    plugin: pluginNamed(lamp, { installedAt: '2026-01-01T00:00:00.000Z' }),
  }
  const newer: FakePlugin = {
    ...exposing({ on: light }),
    plugin: pluginNamed(other, { installedAt: '2026-01-02T00:00:00.000Z' }),
  }
  const first = await stage(t, { [lamp]: older, [other]: newer }, bus)
  await first.homeAssistant.start()
  const shown = {
    [topic]: ['home_acme_lamp_hall_on', 'home_acme_lamp_b'],
    'homeassistant/device/home_acme_lamp_hall/config': ['home_acme_lamp_hall_on_f791f493'],
  }
  assert.deepEqual(await uniqueIds(first), shown)
  await first.homeAssistant.close()
  const second = await stage(t, { [other]: newer, [lamp]: older }, bus)
  await second.homeAssistant.start()
  assert.deepEqual(await uniqueIds(second), shown)
  second.become(lamp, undefined)
  second.change(other, { on: light, b: sensor })
  await Promise.resolve()
  assert.deepEqual(await uniqueIds(second), {
    [topic]: [],
    'homeassistant/device/home_acme_lamp_hall/config': [
      'home_acme_lamp_hall_on_f791f493',
      'home_acme_lamp_hall_b',
    ],
  })
})

test('An entity that goes to another device of its plugin keeps its id, and no other plugin gets that one', async (t) => {
  const bridged = (id: string): Exposure => ({ ...light, device: { id } })
  const other = '@acme/lamp_hall'
  const host = await stage(t, {
    [lamp]: exposing({ hall_on: bridged('east'), b: bridged('east'), c: bridged('west') }),
    [other]: { ...exposing({}), plugin: pluginNamed(other) },
  })
  await host.homeAssistant.start()
  const ofOther = 'homeassistant/device/home_acme_lamp_hall/config'
  for (const [from, to] of [
    ['east', 'west'],
    ['west', 'east'],
  ] as const) {
    host.change(lamp, { hall_on: bridged(to), b: bridged('east'), c: bridged('west') })
    await Promise.resolve()
    host.change(other, { on: light })
    await Promise.resolve()
    const ids = await uniqueIds(host)
    assert.ok(ids[`homeassistant/device/home_acme_lamp_${to}/config`]?.includes('home_acme_lamp_hall_on'), to)
    assert.equal(ids[`homeassistant/device/home_acme_lamp_${from}/config`]?.length, 1)
    assert.deepEqual(ids[ofOther], ['home_acme_lamp_hall_on_f791f493'])
    host.change(other, {})
    await Promise.resolve()
  }
})

test('What goes to another device of its plugin is taken from the one before first: Home Assistant ignores an id that is there', async (t) => {
  const of = (id: string): Exposure => ({ ...sensor, device: { id } })
  const { homeAssistant, published, change } = await stage(t, {
    [lamp]: exposing({ a: of('one'), b: of('one'), c: of('two') }),
  })
  await homeAssistant.start()
  const [one, two] = ['one', 'two'].map((id) => `homeassistant/device/home_acme_lamp_${id}/config`)
  change(lamp, { a: of('two'), b: of('one'), c: of('two') })
  await Promise.resolve()
  assert.deepEqual((await published()).slice(2), [
    [one, 'b:sensor a:sensor!'],
    [two, 'a:sensor c:sensor'],
    [one, 'b:sensor'],
  ])
})

test('An id that another host of the fleet has given stays taken when that one announces the device again', async (t) => {
  const bus = await startBus(t)
  const other = '@acme/lamp_hall'
  const isCoordinator = (): boolean => false
  const there = await stage(t, { [lamp]: exposing({ hall_on: light }) }, bus, {
    responsibility: { owns: (plugin) => plugin === lamp, isCoordinator },
  })
  await there.homeAssistant.start()
  const here = await stage(
    t,
    { [lamp]: exposing({}), [other]: { ...exposing({}), plugin: pluginNamed(other) } },
    bus,
    { responsibility: { owns: (plugin) => plugin === other, isCoordinator } },
  )
  await here.homeAssistant.start()
  await here.published()
  there.change(lamp, { hall_on: light, b: sensor })
  await Promise.resolve()
  await here.published()
  here.change(other, { on: light })
  await Promise.resolve()
  assert.deepEqual(await uniqueIds(here), {
    [topic]: ['home_acme_lamp_hall_on', 'home_acme_lamp_b'],
    'homeassistant/device/home_acme_lamp_hall/config': ['home_acme_lamp_hall_on_f791f493'],
  })
})

/** Two hosts of a fleet, with a plugin each; an entity of both is written alike. */
async function twoHosts(t: TestContext, first: string) {
  const bus = await startBus(t)
  const other = '@acme/lamp_hall'
  const isCoordinator = (): boolean => false
  const at = (id: string) => (id === first ? '2026-01-01T00:00:00.000Z' : '2026-01-02T00:00:00.000Z')
  const plugins = {
    [lamp]: { ...exposing({ hall_on: light }), plugin: pluginNamed(lamp, { installedAt: at(lamp) }) },
    [other]: { ...exposing({ on: light }), plugin: pluginNamed(other, { installedAt: at(other) }) },
  }
  const host = (own: string, use: Bus = bus) =>
    stage(t, plugins, use, { responsibility: { owns: (plugin) => plugin === own, isCoordinator } })
  return { bus, host, other, ofOther: 'homeassistant/device/home_acme_lamp_hall/config' }
}

test('Of two hosts of a fleet that give an id at once, that of the plugin which was installed later gives another one', async (t) => {
  for (const first of [lamp, '@acme/lamp_hall']) {
    const { bus, host, other, ofOther } = await twoHosts(t, first)
    /** What hosts say is heard when both have said it. */
    const late: (() => void)[] = []
    const delayed: Bus = Object.assign(Object.create(bus) as Bus, {
      subscribe: ((filter, listener, options) =>
        filter.startsWith('homeassistant/device/')
          ? bus.subscribe(filter, (message) => void late.push(() => listener(message)), options)
          : bus.subscribe(filter, listener, options)) satisfies Bus['subscribe'],
    })
    const one = await host(lamp, delayed)
    const two = await host(other, delayed)
    await one.homeAssistant.start()
    await two.homeAssistant.start()
    await one.published()
    const [alike, ids] = ['home_acme_lamp_hall_on', await uniqueIds(one)]
    assert.deepEqual(ids, { [topic]: [alike], [ofOther]: [alike] })
    for (const hear of late.splice(0)) hear()
    await Promise.resolve()
    const shown = await one.published()
    const isOther = first === lamp
    const [at, key] = isOther ? [ofOther, 'on'] : [topic, 'hall_on']
    assert.deepEqual(shown.slice(2), [
      [at, `${key}:light!`],
      [at, `${key}:light`],
    ])
    const { [topic]: ofLamp, [ofOther]: ofHall } = await uniqueIds(one)
    assert.deepEqual(isOther ? ofLamp : ofHall, [alike])
    assert.match(String(isOther ? ofHall : ofLamp), /^home_acme_lamp_hall_on_[0-9a-f]{8}$/)
    await one.homeAssistant.close()
    await two.homeAssistant.close()
  }
})

for (const [title, elderFirst] of [
  ['first', true],
  ['last', false],
] as const) {
  test(`Of two hosts of a fleet that would announce on one topic the plugin that was installed first has it, announced ${title}, and its end leaves it to the other`, async (t) => {
    const bus = await startBus(t)
    const [elder, younger] = ['@acme/lamp.a', '@acme/lamp_a']
    assert.ok(elder !== undefined && younger !== undefined)
    const plugin = (id: string, day: number, key: string): FakePlugin => ({
      ...exposing({ [key]: sensor }),
      plugin: pluginNamed(id, { installedAt: `2026-01-0${day}T00:00:00.000Z` }),
    })
    const plugins = { [elder]: plugin(elder, 1, 'a'), [younger]: plugin(younger, 2, 'b') }
    const host = (own: string) =>
      stage(t, plugins, bus, {
        responsibility: { owns: (id) => id === own, isCoordinator: () => false },
      })
    const hosts = [await host(elder), await host(younger)] as const
    const [ofElder, ofYounger] = hosts
    const [first] = elderFirst ? hosts : [ofYounger]
    await first.homeAssistant.start()
    await first.published()
    for (const { homeAssistant } of hosts) await homeAssistant.start()
    /** What stands at last, once each host has heard what the other says of it. */
    async function last(): Promise<unknown> {
      let all: [string, string][] = []
      for (let round = 0; round < 4; round += 1)
        for (const { published } of hosts) {
          all = await published()
          await Promise.resolve()
        }
      return all.at(-1)
    }
    const at = 'homeassistant/device/home_acme_lamp_a/config'
    assert.deepEqual(await last(), [at, 'a:sensor'])
    assert.deepEqual(
      ofYounger.logger.lines.map(({ message, fields }) => [message, fields]),
      [
        [
          'Home Assistant cannot tell two plugins apart; the second one is not shown',
          { plugin: younger, other: elder, topic: at },
        ],
      ],
    )
    assert.deepEqual(ofElder.logger.lines, [])
    ofYounger.become(younger, 'failed')
    assert.deepEqual(await last(), [at, 'a:sensor'], 'its own end takes nothing from the other')
    ofYounger.become(younger, 'running', { b: sensor })
    assert.deepEqual(await last(), [at, 'a:sensor'])
    ofElder.become(elder, 'failed')
    assert.deepEqual(await last(), [at, 'b:sensor'])
    ofElder.become(elder, 'running', { a: sensor })
    assert.deepEqual(await last(), [at, 'a:sensor'])
  })
}

test('What somebody says of another plugin on the topic of this one takes nothing from it', async (t) => {
  const bus = await startBus(t)
  const other = '@acme/older'
  const installedAt = '2026-01-01T00:00:00.000Z'
  const plugins = {
    [lamp]: exposing({ a: sensor }),
    [other]: { ...exposing({}), plugin: pluginNamed(other, { installedAt }) },
  }
  const { homeAssistant, published, logger } = await stage(t, plugins, bus, {
    responsibility: { owns: (id) => id === lamp, isCoordinator: () => false },
  })
  const claim = JSON.stringify({ dev: { ids: [`lupine_home_${other}`] }, cmps: {} })
  await bus.publish(topic, claim, { retain: true })
  await homeAssistant.start()
  assert.deepEqual((await published()).at(-1), [topic, 'a:sensor'])
  await bus.publish(topic, claim, { retain: true })
  await published()
  await Promise.resolve()
  assert.deepEqual((await published()).at(-1), [topic, 'a:sensor'])
  assert.deepEqual(logger.lines, [])
})

test('What another host announced a moment ago is read before an id is given that is written like its own', async (t) => {
  const { host, other, ofOther } = await twoHosts(t, '@acme/lamp_hall')
  const here = await host(other)
  here.known.set(other, { ...exposing({}), plugin: pluginNamed(other) })
  await here.homeAssistant.start()
  const there = await host(lamp)
  await there.homeAssistant.start()
  await here.published()
  here.change(other, { on: light })
  await Promise.resolve()
  assert.deepEqual(await uniqueIds(here), {
    [topic]: ['home_acme_lamp_hall_on'],
    [ofOther]: ['home_acme_lamp_hall_on_f791f493'],
  })
})

test('After close nothing more is said, and the device stays', async (t) => {
  const { homeAssistant, published, become, listeners } = await stage(t, { [lamp]: exposing({ a: sensor }) })
  await homeAssistant.start()
  await homeAssistant.close()
  await homeAssistant.close()
  become(lamp, 'unloaded')
  await Promise.resolve()
  assert.deepEqual(await published(), [[topic, 'a:sensor']])
  assert.equal(listeners.size, 0)
})

test('Each device of a plugin is announced by itself, cleared when nothing of it is left, and known again after a restart', async (t) => {
  const of = (id: string): Exposure => ({ ...sensor, device: { id } })
  const { homeAssistant, published, change, bus, known } = await stage(t, {
    [lamp]: exposing({ own: sensor, a: of('one'), b: of('two'), c: of('one') }),
  })
  await homeAssistant.start()
  const [one, two] = ['one', 'two'].map((id) => `homeassistant/device/home_acme_lamp_${id}/config`)
  assert.deepEqual(await published(), [
    [topic, 'own:sensor'],
    [one, 'a:sensor c:sensor'],
    [two, 'b:sensor'],
  ])
  change(lamp, { own: sensor, a: of('one') })
  assert.deepEqual((await published()).slice(3), [
    [two, '-'],
    [one, 'a:sensor c:sensor!'],
    [one, 'a:sensor'],
  ])
  await homeAssistant.close()
  // While nobody followed, one device went.
  known.set(lamp, exposing({ own: sensor }))
  const again = await stage(t, { [lamp]: exposing({ own: sensor }) }, bus)
  await again.homeAssistant.start()
  assert.deepEqual((await again.published()).at(-1), [one, '-'])
})

test('A device is announced after the one through which it is connected, which Home Assistant has to know by then', async (t) => {
  const of = (id: string, via: string): Exposure => ({ ...sensor, device: { id, via } })
  const exposures = { a: of('lamp', 'hub'), b: of('hub', 'top'), c: of('top', 'lamp'), d: of('x', 'y') }
  const { homeAssistant, published } = await stage(t, { [lamp]: exposing(exposures) })
  await homeAssistant.start()
  const order = (await published()).map(([at]) => /lamp_(\w+)\/config$/.exec(at)?.[1])
  assert.deepEqual(order, ['top', 'hub', 'lamp', 'x'])
})

test('What another host of the fleet has announced is known from when the plugin is this one’s, also before it is told so', async (t) => {
  const bus = await startBus(t)
  const plugins = { [lamp]: exposing({ a: sensor, b: light }) }
  const isCoordinator = (): boolean => false
  const former = await stage(t, plugins, bus, { responsibility: { owns: () => true, isCoordinator } })
  await former.homeAssistant.start()
  await former.homeAssistant.close()
  let isOwned = false
  const responsibility = { owns: () => isOwned, isCoordinator }
  const { homeAssistant, published, become, change } = await stage(t, plugins, bus, { responsibility })
  await homeAssistant.start()
  // What stands on the broker has been heard of by then.
  await published()
  isOwned = true
  become(lamp, 'running', { a: sensor, b: light })
  await Promise.resolve()
  assert.deepEqual(await published(), [[topic, 'a:sensor b:light']])
  change(lamp, { a: sensor })
  await Promise.resolve()
  homeAssistant.take(lamp)
  await Promise.resolve()
  assert.deepEqual((await published()).slice(1), [
    [topic, 'a:sensor b:light!'],
    [topic, 'a:sensor'],
  ])
})

test('What this host of a fleet has announced is still known when the plugin has gone to another host', async (t) => {
  const isThere = { owned: true, coordinates: false }
  const responsibility = { owns: () => isThere.owned, isCoordinator: () => isThere.coordinates }
  const plugins = { [lamp]: exposing({ a: sensor, b: light }) }
  const { homeAssistant, published, become } = await stage(t, plugins, undefined, { responsibility })
  await homeAssistant.start()
  const leave = async (): Promise<void> => {
    await published()
    isThere.owned = false
    homeAssistant.drop(lamp)
  }
  await leave()
  // The other host shows the same, and so says nothing; back again it has one component less.
  isThere.owned = true
  become(lamp, 'running', { a: sensor })
  await Promise.resolve()
  const back = [
    [topic, 'a:sensor b:light'],
    [topic, 'a:sensor b:light!'],
    [topic, 'a:sensor'],
  ]
  assert.deepEqual(await published(), back)
  await leave()
  // It is uninstalled while the other host is away.
  isThere.coordinates = true
  become(lamp, undefined)
  await Promise.resolve()
  assert.deepEqual(await published(), [...back, [topic, '-']])
})
