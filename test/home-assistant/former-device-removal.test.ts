import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFormerDeviceRemoval } from '../../src/home-assistant/former-device-removal.ts'
import { collectFromBus, connect, createRecordingLogger, startBus } from '../bus/bus-fixture.ts'
import { createFakeLifecycle, pluginNamed } from '../helpers/fake-lifecycle.ts'
import { createManualClock } from '../helpers/manual-clock.ts'

test('Home Assistant that says it is online hears of former devices again, however often it says so', async (t) => {
  const bus = await startBus(t)
  const clock = createManualClock()
  const plugins = new Map([['@acme/lamp', { plugin: pluginNamed('@acme/lamp') }]])
  const present = { hostId: 'home', root: 'host', prefix: 'homeassistant', broker: 'embedded' }
  let times = 0
  const removal = createFormerDeviceRemoval({
    ...{ lifecycle: createFakeLifecycle(plugins).lifecycle, bus, clock, logger: createRecordingLogger() },
    ...{ present, former: [{ ...present, hostId: 'before' }], heard: () => (times += 1) },
  })
  t.after(() => removal.close())
  const said = await collectFromBus(bus, 'homeassistant/device/before_acme_lamp/config')
  await removal.start()
  await said.take(1)
  const client = await connect(t, bus.url)
  for (const word of ['offline', 'online', 'online', 'online'])
    await client.publishAsync('homeassistant/status', word, { qos: 1 })
  const words = await collectFromBus(bus, 'homeassistant/status')
  await client.publishAsync('homeassistant/status', 'the last', { qos: 1 })
  await words.take(1)
  assert.equal(times, 1)
  for (let pauses = 0; pauses < 3; pauses += 1) {
    clock.advance(5_000)
    assert.equal(times, 2)
  }
  assert.equal((await said.take(3)).length, 3)
})

test('Of devices that a plugin bridges one after another the newest ten thousand are said again', async (t) => {
  const bus = await startBus(t)
  const clock = createManualClock()
  const lifecycle = createFakeLifecycle(new Map())
  const present = { hostId: 'home', root: 'host', prefix: 'homeassistant', broker: 'embedded' }
  const removal = createFormerDeviceRemoval({
    ...{ lifecycle: lifecycle.lifecycle, bus, clock, logger: createRecordingLogger() },
    ...{ present, former: [{ ...present, hostId: 'before' }], heard: () => undefined },
  })
  t.after(() => removal.close())
  await removal.start()
  const said = await collectFromBus(bus, 'homeassistant/device/+/config')
  const count = 10_001
  for (let index = 0; index < count; index += 1) {
    const device = { id: String(index) }
    const exposure = {
      component: 'sensor',
      type: 'sensor',
      name: 'S',
      features: ['value'],
      writable: [],
    } as const
    lifecycle.announce({
      kind: 'exposure',
      plugin: '@acme/lamp',
      id: 'a',
      exposure: { ...exposure, features: ['value'], writable: [], device },
    })
  }
  await said.take(count)
  const client = await connect(t, bus.url)
  await client.publishAsync('homeassistant/status', 'online', { qos: 1 })
  await said.take(2 * count - 1)
  await bus.publish('homeassistant/device/end/config', 'x')
  const all = await said.take(2 * count)
  assert.deepEqual(
    [all[count]?.topic, all.at(-1)?.topic],
    ['homeassistant/device/before_acme_lamp_1/config', 'homeassistant/device/end/config'],
  )
})
