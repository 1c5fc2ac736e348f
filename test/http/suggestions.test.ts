import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { LifecycleContext } from '../../src/lifecycle/context.ts'
import { createSuggestions } from '../../src/lifecycle/queries/suggestions.ts'
import { createObjectRegistry } from '../../src/lifecycle/running/object-registry.ts'
import { listSerialPorts } from '../../src/outside/serial/serial-library.ts'
import type { SerialPortView } from '../../src/schema/outside/outside.ts'
import { connect } from '../bus/bus-fixture.ts'
import { startTestHost, type TestHost } from '../helpers/test-host.ts'

/** What the form of settings offers, as the API tells it. */

const configSchema = [
  {
    key: 'servers',
    type: 'list',
    fields: [
      { key: 'url', type: 'string' },
      { key: 'token', type: 'string' },
    ],
  },
  { key: 'device', type: 'string', suggest: 'host' },
  { key: 'apiUrlToken', type: 'string' },
]
let host: TestHost
before(async () => {
  const lua = `local plugin = Plugin:new("meter")
    plugin:onInit(function()
      plugin:upsertObject("room.lamp", { on = true })
      plugin:sensor("power", function() return 1 end)
      plugin:control("level", function() return 1 end, function() end)
    end)`
  const exports = { events: [{ name: 'meter:read', description: 'It was read' }] }
  host = await startTestHost({ plugins: [{ id: 'meter', lua, manifest: { configSchema, exports } }] })
  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/meter' } })
  const config = {
    servers: [{ url: 'http://user:pass@one.example:81/x', token: 'http://secret.example' }],
    device: 'two.example',
    apiUrlToken: 'http://hidden.example',
  }
  await host.request('POST', '/api/plugins/meter/config', { body: { config } })
  await host.request('POST', '/api/plugins/meter/toggle')
})
after(() => host.close())

const suggested = async (kind: string) =>
  (await host.request('GET', `/api/suggestions?kind=${kind}`)).body.suggestions

test('each kind of suggestion is what the host knows of it', async (context) => {
  const label = 'Fixture meter'
  assert.deepEqual(await suggested('plugin'), [{ value: '@fixtures/meter', label }])
  assert.deepEqual(await suggested('object'), [{ value: 'plugins.fixtures.meter.room.lamp', label }])
  const [level, power] = [
    { value: '@fixtures/meter/level', label },
    { value: '@fixtures/meter/power', label },
  ]
  assert.deepEqual(await suggested('sensor'), [power])
  assert.deepEqual(await suggested('control'), [level])
  assert.deepEqual(await suggested('value'), [level, power])
  assert.deepEqual(await suggested('event'), [{ value: 'meter:read', label: 'It was read' }])
  assert.deepEqual(await suggested('host'), [
    { value: 'one.example', label },
    { value: 'two.example', label },
  ])
  const ports = (await listSerialPorts()).map(({ path, manufacturer = null }) => ({
    value: path,
    label: manufacturer,
  }))
  assert.deepEqual(await suggested('serial'), ports)
  const client = await connect(context, host.mqttUrl)
  await client.publishAsync('house/kitchen', '1', { retain: true, qos: 1 })
  const topics = (await suggested('topic')).map(({ value }: { value: string }) => value)
  assert.ok(topics.includes('house/kitchen'), topics.join())
  assert.ok(topics.includes('host/plugins/@fixtures/meter/sensors/power'))
})

test('serial ports come with who made them, and none where nobody can say', async () => {
  const serial = (serialPorts: () => Promise<SerialPortView[]>) =>
    createSuggestions({} as LifecycleContext, {
      queries: { list: () => [] },
      registry: createObjectRegistry(),
      bus: { retainedTopics: () => [] },
      outside: { serialPorts },
    })('serial')
  const ports = [{ path: '/dev/ttyUSB1' }, { path: '/dev/ttyUSB0', manufacturer: 'FTDI' }]
  assert.deepEqual(await serial(async () => ports), [
    { value: '/dev/ttyUSB0', label: 'FTDI' },
    { value: '/dev/ttyUSB1', label: null },
  ])
  assert.deepEqual(await serial(() => Promise.reject(new Error('no library'))), [])
})

test('another kind is refused', async () => {
  const { status, body } = await host.request('GET', '/api/suggestions?kind=weather')
  assert.deepEqual([status, body.code, body.errors[0].path], [400, 'body_invalid', '/kind'])
})
