import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { startMdnsResponder, testNetwork } from '../../test/helpers/multicast-responders.ts'
import { type StarterPlugin, startStarterPlugin } from '../../test/helpers/starter-plugin.ts'
import { until } from '../../test/helpers/until.ts'
import { type ShellyDevice, startShelly } from './shelly-device.ts'

const timeout = 60_000
const key = 'shellyplus2pm-a8032ab12345'

interface Stage {
  plugin: StarterPlugin
  device: ShellyDevice
  /** Until this exposure shows this. */
  shows(id: string, feature: string, value: unknown): Promise<void>
  set(id: string, feature: string, value: unknown): Promise<void>
  called(method: string): Promise<Record<string, unknown>>
}

async function start(t: TestContext, password?: string, given = password): Promise<Stage> {
  const device = await startShelly(t, password === undefined ? {} : { password })
  const row = { host: device.host, ...(given === undefined ? {} : { password: given }) }
  const plugin = await startStarterPlugin(
    'shelly',
    { discover: false, devices: [row] },
    { discoveryPrefix: 'homeassistant' },
  )
  t.after(() => plugin.close())
  const path = '/api/plugins/@starter/shelly/exposures'
  return {
    plugin,
    device,
    async shows(id, feature, value) {
      await until(`${id} ${feature}`, async () => {
        const { body } = await plugin.host.request('GET', path)
        const found = (body.exposures as { id: string; state: Record<string, unknown> }[]).find(
          (one) => one.id === id,
        )
        return found?.state[feature] === value
      })
    },
    async set(id, feature, value) {
      const answer = await plugin.host.request('PUT', `${path}/${id}/${feature}`, { body: { value } })
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
    },
    called: (method) =>
      until(method, () => Promise.resolve(device.calls.find((call) => call.method === method)?.params)),
  }
}

test('a device becomes one of Home Assistant, with what each component is', { timeout }, async (t) => {
  const { plugin, device, shows, set, called } = await start(t)
  await shows(`${key}_switch_0`, 'state', false)
  const wanted = [
    ['cover_0', 'cover', 'Cover 1', key],
    ['input_0', 'binary_sensor', 'Input 1', key],
    ['input_1', 'event', 'Input 2', key],
    ['light_0', 'light', 'Light 1', key],
    ['online', 'binary_sensor', 'Online', key],
    ['switch_0', 'switch', 'Ceiling', key],
    ['switch_0_current', 'sensor', 'Ceiling current', key],
    ['switch_0_energy', 'sensor', 'Ceiling energy', key],
    ['switch_0_power', 'sensor', 'Ceiling power', key],
    ['switch_0_temperature', 'sensor', 'Ceiling temperature', key],
    ['switch_0_voltage', 'sensor', 'Ceiling voltage', key],
  ]
  const shown = () =>
    plugin.host.host.lifecycle
      .exposures('@starter/shelly')
      .filter(({ id }) => id !== 'online')
      .map(({ id, exposure }) => [
        id.replace(`${key}_`, ''),
        exposure.component,
        exposure.name,
        exposure.device?.id,
      ])
      .sort()
  // One after another they become known.
  await until(
    'all of it',
    async () =>
      (await plugin.sensors())[`${key}_switch_0_energy`] === 12.5 && shown().length >= wanted.length,
  )
  assert.deepEqual(shown(), wanted)
  await set(`${key}_switch_0`, 'state', true)
  assert.deepEqual(await called('Switch.Set'), { id: 0, on: true })
  await set(`${key}_light_0`, 'brightness', 70)
  assert.deepEqual(await called('Light.Set'), { id: 0, on: true, brightness: 70 })
  await set(`${key}_cover_0`, 'position', 30)
  assert.deepEqual(await called('Cover.GoToPosition'), { id: 0, pos: 30 })
  await set(`${key}_cover_0`, 'state', 'stop')
  assert.deepEqual(await called('Cover.Stop'), { id: 0 })
  device.notify('NotifyStatus', {
    'switch:0': { id: 0, output: true, apower: 61.5 },
    'light:0': { brightness: 70 },
  })
  await shows(`${key}_switch_0`, 'state', true)
  await shows(`${key}_light_0`, 'brightness', 70)
  await until('the power', async () => (await plugin.sensors())[`${key}_switch_0_power`] === 61.5)
  const pushes = await plugin.listen('host/plugins/@starter/shelly/events/shelly:input')
  device.notify('NotifyEvent', { events: [{ component: 'input:1', id: 1, event: 'double_push', ts: 1 }] })
  assert.deepEqual(await pushes.nextValue(), { device: key, component: 'input:1', event: 'double_push' })
  const { status, [key]: object } = await plugin.objects()
  assert.deepEqual(
    [status, object?.online, object?.model],
    [{ devices: 1, online: 1 }, true, 'SNSW-102P16EU'],
  )
})

test('a device that is lost is unavailable, and read anew when it is back', { timeout }, async (t) => {
  const { plugin, device, shows } = await start(t)
  await shows(`${key}_switch_0`, 'state', false)
  await shows(`${key}_switch_0`, 'available', true)
  const shown = await plugin.listen(`host/plugins/@starter/shelly/exposed/${key}_switch_0`)
  const available = async (): Promise<unknown> =>
    ((await shown.nextValue()) as { available: unknown }).available
  assert.equal(await available(), true)
  const known = device.status['switch:0']
  if (known !== undefined) known.output = true
  device.cut()
  assert.equal(await available(), false)
  assert.equal(await available(), true)
  await shows(`${key}_switch_0`, 'state', true)
})

test('a device with a password gets a digest of it', { timeout }, async (t) => {
  const { shows, set, called } = await start(t, 'secret')
  await shows(`${key}_switch_0`, 'state', false)
  await set(`${key}_switch_0`, 'state', true)
  assert.deepEqual(await called('Switch.Set'), { id: 0, on: true })
})

for (const [given, problem] of [
  ['another one', 'the password is wrong'],
  ['', 'the device wants a password'],
] as const)
  test(`the log says that ${problem}`, { timeout }, async (t) => {
    const { plugin } = await start(t, 'secret', given)
    await until(problem, async () => (await plugin.logs('warn')).some((line) => line.endsWith(problem)))
    assert.equal((await plugin.sensors()).online, 0)
  })

test(
  'what is found on the network is connected to by its name, those of the first generation are not',
  { timeout },
  async (t) => {
    const discovery = await testNetwork()
    const responder = await startMdnsResponder(t, discovery.ports.discovery)
    const [type, address] = ['_shelly._tcp', '127.0.0.1']
    const device = await startShelly(t, {})
    const port = Number(device.host.split(':').at(-1))
    const host = `no-such-name-1.local:${port}`
    responder.announce({
      type,
      name: 'shellyplus1-1',
      host: 'no-such-name-1.local',
      port,
      address,
      txt: ['gen=2'],
    })
    responder.announce({ type, name: 'shelly1-2', host: 'no-such-name-2.local', address, txt: [] })
    const plugin = await startStarterPlugin('shelly', {}, {}, discovery)
    t.after(() => plugin.close())
    const views = await until('a connection', async () => {
      const { body } = await plugin.host.request('GET', '/api/plugins/@starter/shelly')
      const all = (body.connections ?? []) as { kind: string; target: string }[]
      return (
        all.some(({ kind }) => kind === 'webSocket') && (await plugin.objects())['found.shellyplus1-1'] && all
      )
    })
    assert.deepEqual(
      views.map(({ kind, target }) => [kind, target]),
      [
        ['discovery', '_shelly._tcp'],
        ['webSocket', `ws://${host}`],
      ],
    )
    const { 'found.shellyplus1-1': found } = await plugin.objects()
    assert.deepEqual(found, { name: 'shellyplus1-1', host, addresses: [address] })
    // No system knows such a name: it is reached at the address that the search has found.
    await until(
      'its state',
      async () => ((await plugin.objects()).status as { online?: number } | undefined)?.online === 1,
    )
    assert.deepEqual(await plugin.logs('error'), [])
  },
)
