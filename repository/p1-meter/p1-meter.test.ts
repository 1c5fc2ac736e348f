import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import type { Json } from '../../src/base/text/json.ts'
import { createSerialPair } from '../../test/helpers/serial-pair.ts'
import { type StarterPlugin, startStarterPlugin } from '../../test/helpers/starter-plugin.ts'
import { until } from '../../test/helpers/until.ts'
import { damaged, dsmr2, dsmr4, dsmr5 } from './example-telegrams.ts'

/** A message that never comes is a failure, not a wait without end. */
const timeout = 60_000

interface Stage {
  plugin: StarterPlugin
  /** Connections that the plugin has opened, the last one first. */
  sockets: Socket[]
  send(...parts: string[]): void
  sensor(id: string, value: unknown): Promise<void>
  status(wanted: (status: any) => boolean): Promise<any>
}

/** The plugin, connected to a server that passes on what the test sends. */
async function start(context: TestContext, config: Record<string, Json> = {}): Promise<Stage> {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    sockets.unshift(socket)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  context.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const plugin = await startStarterPlugin(
    'p1-meter',
    { connection: 'tcp', host: '127.0.0.1', port, interval: 1, ...config },
    { discoveryPrefix: 'homeassistant' },
  )
  context.after(() => plugin.close())
  await until('a connection', () => Promise.resolve(sockets.length > 0))
  return { plugin, sockets, ...looks(plugin), send: (...parts) => sockets[0]?.write(parts.join('')) }
}

function looks(plugin: StarterPlugin): Pick<Stage, 'sensor' | 'status'> {
  return {
    async sensor(id, value) {
      await until(`${id} ${String(value)}`, async () => (await plugin.sensors())[id] === value)
    },
    status: (wanted) =>
      until('the status', async () => {
        const { status } = await plugin.objects()
        return wanted(status) ? status : undefined
      }),
  }
}

test('a telegram becomes sensors, objects and devices of Home Assistant', { timeout }, async (context) => {
  const { plugin, send, sensor } = await start(context)
  send(dsmr5)
  await sensor('gas_1', 0.107)
  const sensors = await plugin.sensors()
  assert.deepEqual(
    [sensors.online, sensors.tariff, sensors.power_in, sensors.energy_in_1, sensors.voltage_l3],
    [true, 2, 244, 4.426, 229],
  )
  const { meter, gas_1, status } = await plugin.objects()
  assert.deepEqual([meter?.time, meter?.serial], ['2017-01-02T19:20:02+01:00', 'K8EG004046395507'])
  assert.equal((meter?.values as Record<string, number>).current_l1, 0.48)
  assert.deepEqual([gas_1?.value, gas_1?.unit, gas_1?.time], [0.107, 'm³', '2017-01-02T16:10:05+01:00'])
  assert.deepEqual([status?.ok, status?.telegrams, status?.refused], [true, 1, 0])
  const described = await until('what it exposes', () => {
    const exposures = plugin.host.host.lifecycle.exposures('@starter/p1-meter')
    const found = Object.fromEntries(
      exposures.map(({ id, exposure: { unit, deviceClass, stateClass, device } }) => [
        id,
        [unit, deviceClass, stateClass, device?.id],
      ]),
    )
    const wanted = ['energy_in_1', 'power_in', 'voltage_l1', 'current_l1', 'gas_1']
    return Promise.resolve(wanted.every((id) => id in found) && found)
  })
  assert.deepEqual(described.energy_in_1, ['kWh', 'energy', 'total_increasing', 'meter'])
  assert.deepEqual(described.power_in, ['W', 'power', 'measurement', 'meter'])
  assert.deepEqual(described.voltage_l1, ['V', 'voltage', 'measurement', 'meter'])
  assert.deepEqual(described.current_l1, ['A', 'current', 'measurement', 'meter'])
  assert.deepEqual(described.gas_1, ['m³', 'gas', 'total_increasing', 'gas_1'])
})

test('what is damaged, cut or no telegram is left out, and told once', { timeout }, async (context) => {
  const { plugin, send, sensor, status } = await start(context)
  send(dsmr5.slice(200), '\xff\0garbage!', damaged, damaged, dsmr5.slice(0, 400), dsmr4)
  await sensor('power_in', 2027)
  assert.deepEqual(await plugin.logs('warn'), ['A telegram is left out: the check sum is wrong'])
  const { telegrams, refused } = await status(({ ok }) => ok)
  assert.deepEqual([telegrams, refused], [1, 2])
})

test('between two updates is the interval, and the last telegram counts', { timeout }, async (context) => {
  const { plugin, send, status } = await start(context)
  const powers = await plugin.listen(`${plugin.topic}/sensors/power_in`)
  // All of these come within the interval: the last is shown at its end, those before it never.
  send(dsmr4, dsmr5, dsmr5, dsmr5, dsmr2)
  assert.deepEqual([await powers.nextValue(), await powers.nextValue()], [2027, 1010])
  await status(({ telegrams }) => telegrams === 5)
})

test('a meter that falls silent is told, and connected again', { timeout }, async (context) => {
  const { plugin, sockets, send, status } = await start(context, { timeout: 1 })
  send(dsmr4)
  await status(({ telegrams }) => telegrams === 1)
  await status(({ problem }) => problem === 'no telegram for 1 s')
  const sensors = await plugin.sensors()
  assert.deepEqual([sensors.online, sensors.power_in], [false, 2027])
  await until('a second connection', () => Promise.resolve(sockets.length > 1))
  // Again and again: each connection lasts a second where nothing comes.
  await until('the next telegram', async () => {
    send(dsmr5)
    const [{ power_in }, objects] = await Promise.all([plugin.sensors(), plugin.objects()])
    return power_in === 244 && objects.status?.ok === true
  })
})

test('what was cut by the end of a connection does not go on in the next', { timeout }, async (context) => {
  const { plugin, sockets, send, sensor, status } = await start(context)
  send(dsmr5, dsmr5.slice(0, 400))
  await sensor('online', true)
  sockets[0]?.end()
  await status(({ problem }) => problem === 'the other side has closed the connection')
  assert.ok(
    plugin.host.host.lifecycle
      .exposures('@starter/p1-meter')
      .every(({ id, state }) => id === 'online' || state.available === false),
  )
  await until('a second connection', () => Promise.resolve(sockets.length > 1))
  send(dsmr5.slice(400), dsmr4)
  await sensor('power_in', 2027)
  assert.deepEqual([(await status(({ ok }) => ok)).refused, (await plugin.sensors()).online], [0, true])
})

test('over a serial port', { timeout }, async (context) => {
  const { path, port } = await createSerialPair(context)
  const plugin = await startStarterPlugin('p1-meter', { device: path, interval: 1 })
  context.after(() => plugin.close())
  const { sensor } = looks(plugin)
  await until('the port', async () => {
    const { body } = await plugin.host.request('GET', '/api/plugins/p1-meter')
    return body.connections.some((one: { state: string }) => one.state === 'open')
  })
  port.write(dsmr5.slice(0, 500))
  port.write(dsmr5.slice(500))
  await sensor('gas_1', 0.107)
  port.write(dsmr2)
  await sensor('gas_1', 1.001)
})
