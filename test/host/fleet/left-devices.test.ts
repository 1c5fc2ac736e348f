import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connect } from '../../bus/bus-fixture.ts'
import { createTcpProxy } from '../../helpers/tcp-proxy.ts'
import { until } from '../../helpers/until.ts'
import { startFleetStage } from './fleet-stage.ts'

/** What Home Assistant was told of plugins that are not installed any more. */

const lamp = {
  id: 'lamp',
  lua: `
local plugin = Plugin:new("lamp")
plugin:onInit(function() expose(plugin:sensor("power", function() return 1 end), "sensor", { name = "Lamp" }) end)
return plugin
`,
}
const id = '@fixtures/lamp'
const path = `/api/plugins/${encodeURIComponent(id)}`
const topic = 'homeassistant/device/test_fixtures_lamp/config'
const settings = { discoveryPrefix: 'homeassistant' }

test('the device of a plugin goes with it where its host cannot say so, by one that runs or one that comes later', async (t) => {
  const stage = await startFleetStage(t, [lamp])
  const client = await connect(t, stage.broker)
  const retained = new Map<string, string>()
  client.on('message', (at, payload) => void retained.set(at, payload.toString()))
  await client.subscribeAsync('homeassistant/#', { qos: 1 })
  const coordinator = await stage.start('a', { settings })
  const way = await createTcpProxy(t, stage.broker)
  const mqttUrl = `mqtt://127.0.0.1:${way.port}`
  const holder = await stage.start('b', { settings: { ...settings, mqttUrl } })
  await coordinator.request('POST', '/api/plugins/install', { body: { fullId: id } })
  await coordinator.request('PUT', `${path}/placement`, { body: { host: 'b' } })
  await coordinator.request('POST', `${path}/toggle`, { body: { enabled: true } })
  await until('the device', async () => retained.get(topic))
  const left = retained.get(topic) ?? ''
  way.refuse()
  assert.equal((await holder.request('DELETE', path)).status, 200)
  await until('the device to go', async () => retained.get(topic) === '')

  // As where no host was left that could have cleared it.
  for (const host of [holder, coordinator]) await host.host.close()
  await client.publishAsync(topic, left, { qos: 1, retain: true })
  await stage.start('c', { settings })
  await until('what was left to go', async () => retained.get(topic) === '')
})
