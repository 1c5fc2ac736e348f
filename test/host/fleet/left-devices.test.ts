import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connect, createRecordingLogger } from '../../bus/bus-fixture.ts'
import { createTcpProxy } from '../../helpers/tcp-proxy.ts'
import { until } from '../../helpers/until.ts'
import { install, startFleetStage, untilPlugin } from './fleet-stage.ts'

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

test('what a host without broker had to say of a device is not said once the plugin is at another host', async (t) => {
  const stage = await startFleetStage(t, [lamp, { id: 'other', lua: lamp.lua.replace('"lamp"', '"other"') }])
  const client = await connect(t, stage.broker)
  const said: string[] = []
  client.on('message', (at, payload) => void said.push(`${at.split('/')[2] ?? ''} ${payload.length > 0}`))
  await client.subscribeAsync('homeassistant/#', { qos: 1 })
  const way = await createTcpProxy(t, stage.broker)
  const logger = createRecordingLogger()
  const mqttUrl = `mqtt://127.0.0.1:${way.port}`
  const before = await stage.start('a', { logger, settings: { ...settings, mqttUrl } })
  await install(before, id)
  await until('the device', async () => said.length > 0)
  const after = await stage.start('b', { settings })
  way.refuse()
  await until('the broker to be missed', async () =>
    logger.lines.some(({ message }) => message === 'The MQTT broker is gone'),
  )
  const toggle = (enabled: boolean) => after.request('POST', `${path}/toggle`, { body: { enabled } })
  assert.equal((await toggle(false)).status, 200)
  await after.request('PUT', `${path}/placement`, { body: { host: 'b' } })
  await untilPlugin(after, id, 'to be on b', ({ host }) => host === 'b')
  assert.equal((await toggle(true)).status, 200)
  await until('the device from b', async () => said.lastIndexOf('test_fixtures_lamp true') > 0)
  way.pass()
  const isConnected = ({ message }: { message: string }): boolean =>
    message === 'Connected to the MQTT broker'
  await until('a to be back', async () => logger.lines.filter(isConnected).length === 2)
  // Of a plugin that a has now: it comes behind all that has waited there.
  await install(after, '@fixtures/other')
  const other = '/api/plugins/other'
  await after.request('PUT', `${other}/placement`, { body: { host: 'a' } })
  await untilPlugin(
    after,
    '@fixtures/other',
    'to be on a',
    ({ host, state }) => host === 'a' && state === 'running',
  )
  await after.request('POST', `${other}/toggle`, { body: { enabled: false } })
  await until('all that a has to say', async () => said.includes('test_fixtures_other false'))
  const ofLamp = said.filter((one) => one.startsWith('test_fixtures_lamp '))
  assert.equal(ofLamp.at(-1), 'test_fixtures_lamp true', said.join())
})
