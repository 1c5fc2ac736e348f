import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import mqtt from 'mqtt'
import { connect } from '../../bus/bus-fixture.ts'
import { until } from '../../helpers/until.ts'
import { createTcpProxy } from '../../helpers/tcp-proxy.ts'
import { type FleetStage, install, startFleetStage, untilPlugin } from './fleet-stage.ts'

/** What the broker retains of plugins that no host runs any more. */

const id = '@fixtures/shower'
const base = `host/plugins/${id}`
const values = [
  ...['objects/lamp', 'sensors/heat', 'controls/power', 'exposed/power', 'exposed/power/availability'].map(
    (rest) => `${base}/${rest}`,
  ),
]

const shower = {
  id: 'shower',
  lua: `
local plugin = Plugin:new("shower")
local on = false
plugin:onInit(function()
  plugin:upsertObject("lamp", { on = true })
  plugin:sensor("heat", function() return 21 end)
  expose(plugin:control("power", function() return on end, function(value) on = value end), "switch", { name = "Lamp" })
end)
return plugin
`,
}

async function startStage(
  t: TestContext,
): Promise<FleetStage & { retained(): Promise<Map<string, string>> }> {
  const stage = await startFleetStage(t, [shower])
  return {
    ...stage,
    /** As somebody finds it who comes now. */
    async retained() {
      const client = await mqtt.connectAsync(stage.broker)
      const found = new Map<string, string>()
      const isAll = new Promise<void>((resolve) => {
        client.on('message', (topic, payload, { retain }) => {
          if (topic === 'end') resolve()
          else if (retain) found.set(topic, payload.toString())
        })
      })
      await client.subscribeAsync(['host/plugins/#', 'end'], { qos: 1 })
      await client.publishAsync('end', '', { qos: 1 })
      await isAll
      await client.endAsync()
      return found
    },
  }
}

function assertUnloaded(retained: ReadonlyMap<string, string>, message: RegExp): void {
  const { state, enabled, host, epoch, error } = JSON.parse(retained.get(`${base}/state`) ?? '{}')
  assert.deepEqual([state, enabled, host, epoch, error?.code], ['unloaded', true, null, null, 'no_host'])
  assert.match(error.message, message)
  assert.deepEqual(
    [...retained.keys()].filter((topic) => topic !== `${base}/state`),
    [],
  )
}

async function untilShown(stage: { retained(): Promise<Map<string, string>> }): Promise<void> {
  await until('what it shows', async () => {
    const retained = await stage.retained()
    return values.every((topic) => retained.has(topic))
  })
}

test('the last host of a fleet that stops leaves its plugins as unloaded, and nothing of what they showed', async (t) => {
  const stage = await startStage(t)
  const a = await stage.start('a')
  await install(a, id)
  await untilShown(stage)
  await a.host.close()
  assertUnloaded(await stage.retained(), /^No host of the fleet is there.*start/)
  const again = await stage.start('a')
  await untilPlugin(again, id, 'to run', ({ state }) => state === 'running')
  await untilShown(stage)
})

test('of hosts that stop together the last one tells how it is with the plugins of all', async (t) => {
  const stage = await startStage(t)
  const hosts = [await stage.start('a'), await stage.start('b'), await stage.start('c')]
  await install(hosts[1] as (typeof hosts)[0], id)
  await untilShown(stage)
  await Promise.all(hosts.map(({ host }) => host.close()))
  assertUnloaded(await stage.retained(), /^No host of the fleet is there/)
})

test('a host that stops leaves what it showed to the next one, but what no other host may run is unloaded', async (t) => {
  const stage = await startStage(t)
  const a = await stage.start('a')
  const b = await stage.start('b')
  await install(b, id)
  await b.request('PUT', `/api/plugins/shower/placement`, { body: { host: 'b' } })
  await untilPlugin(a, id, 'to run on b', ({ host, state }) => host === 'b' && state === 'running')
  await untilShown(stage)
  await b.host.close()
  assertUnloaded(await stage.retained(), /placement asks for \(the host b\)/)
  await untilPlugin(a, id, 'to have no host', ({ error }) => error?.code === 'no_host')
  const { state, nextEvents } = (await a.request('GET', '/api/plugins/shower/machine')).body
  assert.deepEqual([state, nextEvents], ['unloaded', ['PluginPlaced']])
  await a.request('PUT', `/api/plugins/shower/placement`, { body: {} })
  await untilPlugin(a, id, 'to run on a', ({ host, state }) => host === 'a' && state === 'running')
  await untilShown(stage)
  const states: string[] = []
  const client = await connect(t, stage.broker)
  client.on('message', (_topic, payload) => states.push(JSON.parse(payload.toString()).state))
  await client.subscribeAsync(`${base}/state`, { qos: 1 })
  const c = await stage.start('c')
  await a.host.close()
  await untilPlugin(c, id, 'to run on c', ({ host, state }) => host === 'c' && state === 'running')
  assert.deepEqual([...new Set(states)], ['running'])
})

test('what a dead host has left of plugins that no other may run is cleared by one that lives', async (t) => {
  const stage = await startStage(t)
  const store = await createTcpProxy(t, stage.nats.url)
  const broker = await createTcpProxy(t, stage.broker)
  const a = await stage.start('a', {
    store: `nats://127.0.0.1:${store.port}`,
    settings: { mqttUrl: `mqtt://127.0.0.1:${broker.port}` },
  })
  await install(a, id)
  await a.request('PUT', `/api/plugins/shower/placement`, { body: { host: 'a' } })
  const b = await stage.start('b')
  await untilPlugin(b, id, 'to run on a', ({ host, state }) => host === 'a' && state === 'running')
  await untilShown(stage)
  // As if its machine had lost its power: nothing is heard of it any more.
  store.refuse()
  broker.refuse()
  await untilPlugin(b, id, 'to have no host', ({ error }) => error?.code === 'no_host')
  const isTold = until(
    'that to be told',
    async () => {
      const retained = await stage.retained()
      return !values.some((topic) => retained.has(topic)) && retained
    },
    10_000,
  )
  assertUnloaded(await isTold, /placement asks for \(the host a\)/)
})
