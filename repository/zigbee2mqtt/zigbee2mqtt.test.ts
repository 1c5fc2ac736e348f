import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createMosquitto, mosquittoMissing } from '../../test/bus/mosquitto.ts'
import { mistakesIn } from '../../test/home-assistant/documented-fields.ts'
import { type StarterPlugin, startStarterPlugin } from '../../test/helpers/starter-plugin.ts'
import { until } from '../../test/helpers/until.ts'
import type { Json } from '../../src/base/text/json.ts'
import type { ExposureView } from '../../src/lifecycle/lifecycle.ts'
import type { Settings } from '../../src/settings/settings.ts'
import { coordinator, definitions, type Device, type StandIn, startStandIn } from './stand-in.ts'

/** A message that never comes is a failure, not a wait without end. */
const timeout = 60_000

const hall: Device = { ieee_address: '0x01', friendly_name: 'hall', definition: definitions.bulb }
const plug: Device = { ieee_address: '0x02', friendly_name: 'kitchen/plug', definition: definitions.plug }
const door: Device = {
  ...{ ieee_address: '0x03', friendly_name: 'front door', definition: definitions.doorSensor },
  ...{ power_source: 'Battery', type: 'EndDevice' },
}

interface Stage {
  plugin: StarterPlugin
  zigbee: StandIn
  exposures(): Promise<Map<string, ExposureView>>
  set(exposure: string, feature: string, value: Json): Promise<number>
  /** Waits until the sensors and controls have these values; the others do not matter. */
  shows(values: Record<string, unknown>): Promise<void>
  ids(): Promise<string[]>
  /** Enables or disables the plugin. */
  toggle(enabled: boolean): Promise<void>
}

const path = '/api/plugins/@starter/zigbee2mqtt'

async function start(
  context: TestContext,
  config: Record<string, Json> = {},
  settings: Partial<Settings> = {},
  standIn?: StandIn,
): Promise<Stage> {
  const plugin = await startStarterPlugin('zigbee2mqtt', { readAtStart: false, ...config }, settings)
  context.after(() => plugin.close())
  const zigbee =
    standIn ??
    (await startStandIn(
      plugin.host.mqttUrl,
      typeof config.baseTopic === 'string' ? config.baseTopic : 'zigbee2mqtt',
    ))
  context.after(() => zigbee.close())
  const get = async (what: string): Promise<any> => (await plugin.host.request('GET', `${path}/${what}`)).body
  const values = async (): Promise<Record<string, unknown>> => {
    const { controls } = (await get('controls')) as { controls: { id: string; value: unknown }[] }
    return {
      ...(await plugin.sensors()),
      ...Object.fromEntries(controls.map(({ id, value }) => [id, value])),
    }
  }
  return {
    plugin,
    zigbee,
    async exposures() {
      const { exposures } = (await get('exposures')) as { exposures: ExposureView[] }
      return new Map(exposures.map((view) => [view.id, view]))
    },
    async set(exposure, feature, value) {
      const answer = await plugin.host.request('PUT', `${path}/exposures/${exposure}/${feature}`, {
        body: { value },
      })
      return answer.status
    },
    async shows(wanted) {
      await until('the plugin to be so', async () => {
        const present = await values()
        return Object.entries(wanted).every(
          ([id, value]) => JSON.stringify(present[id]) === JSON.stringify(value),
        )
      })
    },
    ids: async () =>
      Object.keys(await values())
        .filter((id) => id !== 'online' && id !== 'read')
        .sort(),
    async toggle(enabled) {
      const { status } = await plugin.host.request('POST', `${path}/toggle`, { body: { enabled } })
      assert.equal(status, 200)
    },
  }
}

/** Waits until so many devices are there. */
async function hasDevices({ plugin }: Stage, count: number, groups = 0): Promise<void> {
  await until('the plugin to be so', async () => {
    const { bridge } = await plugin.objects()
    return bridge?.devices === count && bridge.groups === groups
  })
}

test('devices become sensors, controls, objects and exposures, and are set', { timeout }, async (context) => {
  const stage = await start(context)
  const { plugin, zigbee } = stage
  await zigbee.info({ enabled: false })
  await zigbee.state(true)
  await zigbee.devices([coordinator, hall, plug, door])
  await hasDevices(stage, 3)
  await zigbee.say('hall', {
    state: 'ON',
    brightness: 100,
    color_temp: 300,
    color: { x: 0.4, y: 0.3 },
    color_mode: 'xy',
  })
  await zigbee.say('kitchen/plug', {
    state: 'OFF',
    power: 12.5,
    energy: 3,
    child_lock: 'LOCK',
    overload: 2000,
  })
  await zigbee.say('front door', { contact: true, battery: 80, linkquality: 200 })
  await stage.shows({
    online: true,
    hall_state: true,
    hall_brightness: 100,
    hall_color: { x: 0.4, y: 0.3 },
    kitchen_plug_state: false,
    kitchen_plug_power: 12.5,
    kitchen_plug_child_lock: true,
    front_door_contact: false,
    front_door_battery: 80,
  })
  assert.deepEqual(await stage.ids(), [
    'front_door_battery',
    'front_door_contact',
    'hall_brightness',
    'hall_color',
    'hall_color_temp',
    'hall_color_temp_preset',
    'hall_color_temp_startup',
    'hall_color_temp_startup_preset',
    'hall_effect',
    'hall_state',
    'kitchen_plug_child_lock',
    'kitchen_plug_energy',
    'kitchen_plug_overload',
    'kitchen_plug_power',
    'kitchen_plug_power_on_behavior',
    'kitchen_plug_state',
  ])
  assert.deepEqual((await plugin.objects())['devices.front_door'], {
    name: 'front door',
    friendlyName: 'front door',
    address: '0x03',
    kind: 'device',
    description: 'Door sensor',
    model: 'MCCGQ01LM',
    vendor: 'Xiaomi',
    power: 'Battery',
    supported: true,
    available: true,
    state: { contact: true, battery: 80, linkquality: 200 },
  })

  const exposures = await stage.exposures()
  const light = exposures.get('0x01_light')
  assert.deepEqual(light?.exposure.features, ['state', 'brightness', 'color_temp', 'xy', 'effect'])
  assert.deepEqual(light?.exposure.effects, ['blink', 'okay'])
  const device = { id: '0x01', name: 'hall', model: 'LED1624G9', manufacturer: 'IKEA', via: 'bridge' }
  assert.deepEqual(light?.exposure.device, device)
  const contact = exposures.get('0x03_contact')
  assert.deepEqual([contact?.exposure.component, contact?.exposure.deviceClass], ['binary_sensor', 'door'])
  // What is for configuration is a control, and not shown to Home Assistant.
  assert.ok(!exposures.has('0x02_power_on_behavior') && exposures.has('0x02_overload'))

  assert.equal(await stage.set('0x01_light', 'state', 'OFF'), 200)
  assert.equal(await stage.set('0x01_light', 'brightness', 20), 200)
  assert.equal(await stage.set('0x01_light', 'color_temp', 153), 200)
  assert.equal(await stage.set('0x01_light', 'xy', '0.5,0.25'), 200)
  assert.equal(await stage.set('0x01_light', 'effect', 'blink'), 200)
  assert.equal((await plugin.setControl('kitchen_plug_overload', 500)).status, 200)
  assert.equal((await plugin.setControl('hall_color_temp_startup_preset', 'previous')).status, 200)
  assert.equal((await plugin.setControl('kitchen_plug_state', 'toggle')).status, 422)
  assert.equal((await plugin.setControl('kitchen_plug_overload', 5000)).status, 422)
  assert.equal((await plugin.setControl('kitchen_plug_power_on_behavior', 'PREVIOUS')).status, 200)
  assert.equal((await plugin.setControl('read', 'hall')).status, 200)
  const asked = await zigbee.taken(9)
  assert.deepEqual(asked.slice(0, 8), [
    'hall/set {"state":"OFF"}',
    'hall/set {"brightness":20}',
    // As far as this lamp goes.
    'hall/set {"color_temp":250}',
    'hall/set {"color":{"x":0.5,"y":0.25}}',
    'hall/set {"effect":"blink"}',
    'kitchen/plug/set {"overload":500}',
    'hall/set {"color_temp_startup":65535}',
    'kitchen/plug/set {"power_on_behavior":"previous"}',
  ])
  const [, question = ''] = /^hall\/get (.*)$/.exec(asked[8] ?? '') ?? []
  assert.deepEqual(JSON.parse(question), {
    ...{ state: '', brightness: '', color_temp: '', color: { x: '', y: '' }, color_temp_startup: '' },
  })
  assert.deepEqual(await plugin.logs('warn'), [
    `The control 'kitchen_plug_state' was not set: The value must be ON or OFF, or true or false, not "toggle".`,
    "The control 'kitchen_plug_overload' was not set: The value must be at most 2300, not 5000.",
  ])
})

test(
  'locks, covers, thermostats, fans, buttons and endpoints have their own forms',
  { timeout },
  async (context) => {
    const stage = await start(context)
    const { zigbee, plugin } = stage
    const named = (name: keyof typeof definitions, address: string): Device => ({
      ...{ ieee_address: address, friendly_name: name, definition: definitions[name] },
    })
    await zigbee.state(true)
    await zigbee.devices([
      named('blind', '0x1'),
      named('lock', '0x2'),
      named('thermostat', '0x3'),
      named('fan', '0x4'),
      named('remote', '0x5'),
      named('twoSwitches', '0x6'),
    ])
    await hasDevices(stage, 6)
    const events = await plugin.listen(`${plugin.topic}/events/#`)
    const buttons = await plugin.listen(`${plugin.topic}/exposed/0x5_action`)
    await zigbee.say('blind', { state: 'OPEN', position: 70 })
    await zigbee.say('lock', { state: 'UNLOCK', lock_state: 'not_fully_locked' })
    await zigbee.say('thermostat', {
      ...{
        occupied_heating_setpoint: 21.5,
        local_temperature: 19,
        system_mode: 'heat',
        running_state: 'heat',
      },
      ...{ preset: 'hold', local_temperature_calibration: -0.5, battery: 50 },
      ...{ window: { open: true, minutes: 5 }, schedule: [{ day: 'monday', hour: 7 }] },
    })
    await zigbee.say('fan', { fan_state: 'ON', fan_mode: 'low', inserted: 'yes' })
    await zigbee.say('twoSwitches', { state_left: 'ON', state_right: 'OFF' })
    await stage.shows({
      blind_position: 70,
      lock_state: false,
      lock_lock_state: 'not_fully_locked',
      thermostat_local_temperature: 19,
      thermostat_window_open: true,
      thermostat_window_minutes: 5,
      thermostat_schedule: [{ day: 'monday', hour: 7 }],
      fan_fan_mode: 'low',
      fan_inserted: 'yes',
      twoSwitches_state_left: true,
      twoSwitches_state_right: false,
    })
    const exposures = await stage.exposures()
    const state = (id: string): unknown => exposures.get(id)?.state
    assert.deepEqual(state('0x1_cover'), { state: 'open', position: 70, available: true })
    assert.deepEqual(state('0x2_lock'), { state: 'jammed', available: true })
    assert.deepEqual(state('0x3_climate'), {
      ...{
        target_temperature: 21.5,
        current_temperature: 19,
        mode: 'heat',
        action: 'heating',
        preset_mode: 'hold',
      },
      available: true,
    })
    const thermostat = exposures.get('0x3_climate')?.exposure
    // Home Assistant knows no emergency heating; the control has it.
    assert.deepEqual(
      [thermostat?.modes, thermostat?.min, thermostat?.step],
      [['off', 'heat', 'auto'], 5, 0.5],
    )
    assert.deepEqual(state('0x4_fan'), { state: true, preset_mode: 'low', available: true })
    assert.equal(exposures.get('0x5_identify')?.exposure.component, 'button')
    assert.equal(exposures.get('0x6_state_left')?.exposure.name, 'State left')

    assert.equal(await stage.set('0x1_cover', 'state', 'STOP'), 200)
    assert.equal(await stage.set('0x1_cover', 'position', 10), 200)
    assert.equal(await stage.set('0x2_lock', 'state', 'lock'), 200)
    assert.equal(await stage.set('0x2_lock', 'state', 'open'), 422)
    assert.equal(await stage.set('0x3_climate', 'target_temperature', 20), 200)
    assert.equal(await stage.set('0x3_climate', 'mode', 'off'), 200)
    assert.equal(await stage.set('0x4_fan', 'preset_mode', 'high'), 200)
    assert.equal(await stage.set('0x5_identify', 'press', true), 200)
    assert.equal(await stage.set('0x6_state_right', 'state', true), 200)
    assert.equal((await plugin.setControl('thermostat_window', { open: 'off', minutes: 10 })).status, 200)
    assert.equal((await plugin.setControl('thermostat_window', { opened: true })).status, 422)
    assert.equal((await plugin.setControl('thermostat_schedule', [{ day: 'sunday', hour: 9 }])).status, 200)
    assert.deepEqual(await zigbee.taken(10), [
      'blind/set {"state":"STOP"}',
      'blind/set {"position":10}',
      'lock/set {"state":"LOCK"}',
      'thermostat/set {"occupied_heating_setpoint":20}',
      'thermostat/set {"system_mode":"off"}',
      'fan/set {"fan_mode":"high"}',
      'remote/set {"identify":"identify"}',
      'twoSwitches/set {"state_right":"ON"}',
      'thermostat/set {"window":{"open":false,"minutes":10}}',
      'thermostat/set {"schedule":[{"day":"sunday","hour":9}]}',
    ])

    // The same twice is two.
    await zigbee.say('remote', { action: 'on', battery: 9 })
    await zigbee.say('remote', { action: '' })
    await zigbee.say('remote', { action: 'on' })
    const pressed = { device: 'remote', address: '0x5', action: 'on' }
    assert.deepEqual([await events.nextValue(), await events.nextValue()], [pressed, pressed])
    assert.deepEqual(await buttons.nextValue(), { event_type: 'on' })
    assert.deepEqual(await buttons.nextValue(), { event_type: 'on' })
  },
)

test(
  'what is renamed, removed, disabled or asked anew leaves nothing behind',
  { timeout },
  async (context) => {
    const stage = await start(context, {}, { discoveryPrefix: 'homeassistant', hostId: 'house' })
    const { plugin, zigbee } = stage
    const topic = (id: string): string => `homeassistant/device/house_starter_zigbee2mqtt_${id}/config`
    await zigbee.state(true)
    await zigbee.devices([coordinator, hall, plug, door])
    await hasDevices(stage, 3)
    await zigbee.say('hall', { state: 'ON' })
    await stage.shows({ hall_state: true })
    const told = await plugin.listen(topic('0x01'))
    assert.match((await told.next()).payload, /"name":"hall"/)

    // Two exchange their names, another gets a new one.
    const front: Device = { ...door, friendly_name: 'garden/gate' }
    await zigbee.devices([
      { ...hall, friendly_name: 'kitchen/plug' },
      { ...plug, friendly_name: 'hall' },
      front,
    ])
    // What has a new name comes, and what had it goes, one after another.
    const named = async (): Promise<string[]> =>
      (await stage.ids()).filter(
        (id) => id.endsWith('_brightness') || id.endsWith('_power') || id.includes('door'),
      )
    await until(
      'the plugin to be so',
      async () =>
        (await stage.ids()).includes('garden_gate_contact') && !(await named()).join().includes('door'),
    )
    assert.deepEqual(await named(), ['hall_power', 'kitchen_plug_brightness'])
    await until('its object', async () => {
      const objects = await plugin.objects()
      return 'devices.garden_gate' in objects && Object.keys(objects).length <= 4
    })
    assert.deepEqual(Object.keys(await plugin.objects()).sort(), [
      'bridge',
      'devices.garden_gate',
      'devices.hall',
      'devices.kitchen_plug',
    ])
    // What was known of the lamp is known of it by its new name, and Home Assistant has seen it stay.
    await stage.shows({ kitchen_plug_state: true })
    await until('its new name', async () => {
      const { payload } = await told.next()
      assert.notEqual(payload, '')
      return payload.includes('"name":"kitchen/plug"')
    })
    await zigbee.say('garden/gate', { contact: false })
    await stage.shows({ garden_gate_contact: true })

    // While it is asked anew it stays as it was; then it can do something else.
    const asked: Device = { ...front, interviewing: true, definition: null }
    await zigbee.devices([{ ...hall, friendly_name: 'kitchen/plug' }, asked])
    await hasDevices(stage, 2)
    await stage.shows({ garden_gate_contact: true })
    await zigbee.devices([
      { ...hall, disabled: true },
      { ...front, definition: definitions.climateSensor },
    ])
    await hasDevices(stage, 1)
    assert.deepEqual(await stage.ids(), [
      'garden_gate_battery',
      'garden_gate_humidity',
      'garden_gate_temperature',
    ])
    assert.deepEqual([...(await stage.exposures()).keys()].sort(), [
      '0x03_battery',
      '0x03_humidity',
      '0x03_temperature',
      'online',
    ])
    await until('the lamp to be gone', async () => (await told.next()).payload === '')
    await zigbee.say('garden/gate', { battery: 5 })
    await stage.shows({ garden_gate_battery: 5 })
    const retained = await Promise.all(
      ['sensors/garden_gate_battery', 'exposed/0x03_battery', 'objects/devices.garden_gate'].map((name) =>
        plugin.listen(`${plugin.topic}/${name}`),
      ),
    )
    for (const topic of retained) assert.notEqual((await topic.next()).payload, '')
    await zigbee.devices([coordinator])
    await hasDevices(stage, 0)
    assert.deepEqual(await stage.ids(), [])
    for (const topic of retained) {
      // Its last state may come before it goes.
      let last = await topic.next()
      while (last.payload !== '') last = await topic.next()
    }
  },
)

test(
  'a bridge or a device that is offline is told, and takes no command in vain',
  { timeout },
  async (context) => {
    const stage = await start(context)
    const { plugin, zigbee } = stage
    await zigbee.devices([hall, plug])
    await zigbee.state(true)
    await zigbee.available('hall', false)
    await zigbee.available('kitchen/plug', true)
    await hasDevices(stage, 2)
    const available = async (id: string): Promise<unknown> =>
      (await stage.exposures()).get(id)?.state.available
    await until('the plugin to be so', async () => (await available('0x01_light')) === false)
    assert.equal(await available('0x02_power'), true)
    await zigbee.available('hall', true)
    await until('the plugin to be so', async () => (await available('0x01_light')) === true)

    await zigbee.client.publishAsync('zigbee2mqtt/bridge/state', 'offline', { qos: 1, retain: true })
    await until('the plugin to be so', async () => (await available('0x02_power')) === false)
    const { bridge } = await plugin.objects()
    assert.deepEqual([bridge?.ok, bridge?.problem], [false, 'Zigbee2MQTT is offline'])
    const refused = await plugin.setControl('hall_state', true)
    assert.equal(refused.status, 422)
    assert.match(JSON.stringify(refused.body), /Zigbee2MQTT is offline/)
    await zigbee.client.publishAsync('zigbee2mqtt/bridge/state', 'online', { qos: 1, retain: true })
    await until('the plugin to be so', async () => (await available('0x02_power')) === true)
    assert.equal((await plugin.setControl('hall_state', 'on')).status, 200)
    assert.deepEqual(await zigbee.taken(1), ['hall/set {"state":"ON"}'])
  },
)

test(
  'rows leave devices out and call them otherwise; groups can do what all of them can',
  { timeout },
  async (context) => {
    const stage = await start(context, {
      baseTopic: 'house/zigbee',
      devices: [
        { device: 'kitchen/*', leaveOut: true },
        { device: '0x01', name: 'Hall lamp', area: 'Hall' },
      ],
      leaveOut: ['color_temp', 'effect', 'color_temp_startup'],
    })
    const { plugin, zigbee } = stage
    const other: Device = { ...hall, ieee_address: '0x07', friendly_name: 'hall_lamp' }
    const members = [hall, other].map(({ ieee_address }) => ({ ieee_address, endpoint: 1 }))
    await zigbee.state(true)
    await zigbee.groups([
      { id: 4, friendly_name: 'lamps', members },
      { id: 5, friendly_name: 'mixed', members: [...members, { ieee_address: '0x02', endpoint: 1 }] },
    ])
    await zigbee.devices([hall, other, plug])
    await hasDevices(stage, 2, 2)
    // Two would have the same id: both say which they are.
    assert.deepEqual(await stage.ids(), [
      'Hall_lamp_brightness',
      'Hall_lamp_color',
      'Hall_lamp_linkquality',
      'Hall_lamp_state',
      'hall_lamp_brightness',
      'hall_lamp_color',
      'hall_lamp_linkquality',
      'hall_lamp_state',
      'lamps_brightness',
      'lamps_color',
      'lamps_state',
    ])
    // Each device is exposed when its sensors and controls are there.
    await until('the plugin to be so', async () => (await stage.exposures()).has('0x01_light'))
    const lamp = (await stage.exposures()).get('0x01_light')?.exposure
    assert.deepEqual([lamp?.device?.name, lamp?.device?.area], ['Hall lamp', 'Hall'])
    assert.equal(await stage.set('group-4_light', 'state', true), 200)
    assert.deepEqual(await zigbee.taken(1), ['lamps/set {"state":"ON"}'])
    await zigbee.say('lamps', { state: 'ON', brightness: 7 })
    await stage.shows({ lamps_brightness: 7 })
    assert.deepEqual(await plugin.logs('warn'), [])
  },
)

test('what Zigbee2MQTT announces itself is not announced a second time', { timeout }, async (context) => {
  const stage = await start(context)
  const { plugin, zigbee } = stage
  await zigbee.info({ enabled: true, discovery_topic: 'homeassistant' })
  await zigbee.state(true)
  await zigbee.devices([hall])
  await hasDevices(stage, 1)
  assert.ok((await stage.ids()).includes('hall_state'))
  assert.deepEqual([...(await stage.exposures()).keys()], ['online'])
  assert.equal((await plugin.objects()).bridge?.announcesItself, true)
  await zigbee.info({ enabled: false })
  await until('the plugin to be so', async () => (await stage.exposures()).has('0x01_light'))
  await zigbee.info(true)
  await until('the plugin to be so', async () => !(await stage.exposures()).has('0x01_light'))
})

test(
  'what is known of a device is known after a restart, and what is not is asked for',
  { timeout },
  async (context) => {
    const stage = await start(context, { readAtStart: true })
    const { plugin, zigbee } = stage
    await zigbee.state(true)
    await zigbee.devices([plug, door])
    assert.deepEqual(await zigbee.taken(1), ['kitchen/plug/get {"state":"","power":"","overload":""}'])
    await zigbee.say('kitchen/plug', { state: 'ON', power: 5 })
    await zigbee.say('front door', { contact: false })
    await stage.shows({ kitchen_plug_power: 5, front_door_contact: true })
    await zigbee.close()
    // It asks once, and must not do so before anybody listens.
    await stage.toggle(false)
    await plugin.restart()
    const again = await startStandIn(plugin.host.mqttUrl)
    context.after(() => again.close())
    await stage.toggle(true)
    await stage.shows({ kitchen_plug_power: 5, front_door_contact: true })
    assert.deepEqual(await again.taken(1), ['kitchen/plug/get {"overload":""}'])
  },
)

test(
  'a network of 200 devices is there at once, and Home Assistant takes all of it',
  { timeout },
  async (context) => {
    const stage = await start(context, {}, { discoveryPrefix: 'homeassistant', hostId: 'house' })
    const { plugin, zigbee } = stage
    const kinds = Object.values(definitions)
    const devices = Array.from({ length: 200 }, (_, index): Device => ({
      ...{ ieee_address: `0x${index}`, friendly_name: `room ${index % 20}/device ${index}` },
      definition: kinds[index % kinds.length] ?? null,
    }))
    await zigbee.state(true)
    const before = process.cpuUsage()
    await zigbee.devices(devices)
    await hasDevices(stage, 200)
    const { user, system } = process.cpuUsage(before)
    context.diagnostic(`${Math.round((user + system) / 1000)} ms of processor time`)
    await zigbee.say('room 19/device 199', { fan_state: 'ON', inserted: 'last' })
    await stage.shows({ room_19_device_199_inserted: 'last' })
    assert.deepEqual(await plugin.logs('warn'), [])
    assert.deepEqual(await plugin.logs('error'), [])
    const { body } = await plugin.host.request('GET', path)
    // Two filters a folder.
    assert.equal(body.resources.mqttSubscriptions, 4 + 2 * 20)
    const inbox = await plugin.listen('homeassistant/device/+/config')
    for (let count = 0; count < 201; count += 1) {
      const { topic, payload } = await inbox.next()
      assert.deepEqual(mistakesIn(JSON.parse(payload)), [], topic)
    }
    // One that is gone: the others are not made anew.
    const others = await plugin.listen(`${plugin.topic}/objects/devices.room_1_device_1`)
    await others.next()
    await zigbee.devices(devices.slice(0, 199))
    await hasDevices(stage, 199)
    assert.equal((await stage.ids()).filter((id) => id.startsWith('room_19_device_199')).length, 0)
  },
)

test('it works over an external broker, too', { timeout, skip: mosquittoMissing }, async (context) => {
  const mosquitto = await createMosquitto(context)
  await mosquitto.start()
  const zigbee = await startStandIn(mosquitto.url)
  await zigbee.state(true)
  await zigbee.devices([hall])
  await zigbee.say('hall', { state: 'OFF' }, { retain: true })
  const stage = await start(context, {}, { mqttUrl: mosquitto.url }, zigbee)
  await hasDevices(stage, 1)
  await stage.shows({ hall_state: false })
  assert.equal(await stage.set('0x01_light', 'state', true), 200)
  assert.deepEqual(await zigbee.taken(1), ['hall/set {"state":"ON"}'])
})

test(
  'it publishes nothing but commands to devices, and says what is wrong with a base topic',
  { timeout },
  async (context) => {
    const plugin = await startStarterPlugin('zigbee2mqtt', { baseTopic: 'zigbee/#' })
    context.after(() => plugin.close())
    assert.deepEqual(await plugin.logs('error'), [
      "the base topic 'zigbee/#' must be a topic without + and #, and without / at its ends",
    ])
    const { body } = await plugin.host.request('GET', path)
    const { publish } = body.permissions.mqtt as { publish: string[] }
    assert.ok(
      publish.every((filter) => /\/(set|get)$/.test(filter)),
      publish.join(' '),
    )
  },
)
