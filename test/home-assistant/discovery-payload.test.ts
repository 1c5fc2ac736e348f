import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../src/base/text/json.ts'
import { discoveryOf, removalOf } from '../../src/home-assistant/discovery-payload.ts'
import {
  type ExposedComponent,
  type ExposedDevice,
  exposedComponents,
  type Exposure,
  featuresOf,
} from '../../src/schema/plugin/exposure.ts'
import { pluginNamed } from '../helpers/fake-lifecycle.ts'
import { documentedPlatforms, mistakesIn } from './documented-fields.ts'

const context = { hostId: 'home', hostVersion: '3.2.1', root: 'my/host' }
const plugin = pluginNamed('@acme/heat.pump', { name: 'Heat pump', version: '1.4.0', author: 'Acme' })

/** An exposure that can be read and set in every feature of its component. */
function complete(component: ExposedComponent, more: Partial<Exposure> = {}): Exposure {
  const features = Object.entries(featuresOf(component))
  return {
    component,
    type: component,
    name: `The ${component}`,
    features: features.map(([name]) => name),
    writable: features.filter(([, { commanded }]) => commanded).map(([name]) => name),
    ...more,
  }
}

const everyOption: Partial<Exposure> = {
  area: 'Hall',
  unit: '°C',
  min: 5,
  max: 30,
  step: 0.5,
  icon: 'mdi:fire',
  deviceClass: 'temperature',
  stateClass: 'measurement',
  options: ['one', 'two'],
}

function discover(exposures: Record<string, Exposure>, shown = plugin): JsonObject {
  const views = Object.entries(exposures).map(([id, exposure]) => ({ id, exposure, state: {} }))
  return discoveryOf(context, shown, views).payload
}

function componentOf(exposure: Exposure): JsonObject {
  return (discover({ it: exposure }).cmps as { it: JsonObject }).it
}

const all = (more: Partial<Exposure>): Record<string, Exposure> =>
  Object.fromEntries(exposedComponents.map((component) => [component, complete(component, more)]))

test('Every component that can be exposed is one that Home Assistant documents, with the fields it documents', () => {
  assert.deepEqual([...exposedComponents].sort(), Object.keys(documentedPlatforms).sort())
  for (const more of [
    {},
    everyOption,
    { writable: [] },
    { min: 9, max: 3, step: 0 },
    { min: 9 },
    { max: -5_000_000 },
    { options: [] },
    { unit: '°F' },
  ]) {
    const exposures = all(more)
    // These cannot be exposed without being settable: what cannot be set is a sensor.
    if (more.writable?.length === 0) {
      const setOnly = [
        'lock',
        'alarm_control_panel',
        'siren',
        'humidifier',
        'date',
        'time',
        'datetime',
        'notify',
      ]
      for (const component of [
        ...['switch', 'number', 'select', 'text', 'button', 'light', 'fan'],
        ...setOnly,
      ])
        Reflect.deleteProperty(exposures, component)
    }
    assert.deepEqual(mistakesIn(discover(exposures)), [], JSON.stringify(more))
  }
})

test('The check finds what Home Assistant would not take', () => {
  const good = discover({ lamp: complete('light') })
  const wrong = structuredClone(good) as Record<string, JsonObject>
  const lamp = (wrong.cmps as Record<string, JsonObject>).lamp ?? {}
  Reflect.deleteProperty(lamp, 'command_topic')
  lamp.flavour = 'sweet'
  lamp.icon = 'lamp'
  wrong.extra = {}
  assert.deepEqual(mistakesIn(wrong), [
    'extra is no field of a device',
    'lamp: command_topic is required',
    'lamp: flavour may not be "sweet"',
    'lamp: icon may not be "lamp"',
  ])
})

test('An option that is an empty text says nothing: Home Assistant takes no entity with an empty icon or class', () => {
  const empty = { icon: '', deviceClass: '', area: '' }
  for (const component of exposedComponents)
    assert.deepEqual(discover({ it: complete(component, empty) }), discover({ it: complete(component) }))
})

test('What a device says with an empty text it does not say: another exposure may, or what stands for it', () => {
  const ofDevice = (device: ExposedDevice): object =>
    discover({ it: complete('light', { area: 'Hall', device }) })
  const empty = { name: '', model: '', manufacturer: '', serial: '', version: '', area: '', via: '' }
  assert.deepEqual(ofDevice({ id: 'd', ...empty }), ofDevice({ id: 'd' }))
})

test('A humidifier has bounds and a class that Home Assistant takes', () => {
  const fieldsOf = (more: object): unknown[] => {
    const { cmps } = discover({ one: complete('humidifier', more) }) as { cmps: { one: JsonObject } }
    const { min_humidity, max_humidity, device_class } = cmps.one
    return [min_humidity, max_humidity, device_class]
  }
  assert.deepEqual(fieldsOf({ min: -5, max: 250, deviceClass: 'water' }), [0, 100, undefined])
  assert.deepEqual(fieldsOf({ min: 30, max: 60, deviceClass: 'dehumidifier' }), [30, 60, 'dehumidifier'])
  assert.deepEqual(fieldsOf({ min: 100, max: undefined }).slice(0, 2), [undefined, undefined])
})

test('A sensor that has only given 0 and 1 has no class that only quantities have: Home Assistant would refuse it', () => {
  const classOf = (type: string, deviceClass: string): unknown =>
    componentOf(complete('binary_sensor', { type, deviceClass })).device_class
  assert.equal(classOf('sensor', 'temperature'), undefined)
  assert.equal(classOf('sensor', 'battery'), 'battery')
  // Whoever says that it is one knows its classes, those to come as well.
  assert.equal(classOf('binary_sensor', 'yet to come'), 'yet to come')
})

test('What Home Assistant would refuse a whole entity for is left out: a preset that it has itself, a scale of nothing', () => {
  const of = (component: ExposedComponent, more: Partial<Exposure>, ...names: string[]) => {
    const fields = componentOf(complete(component, more))
    return names.map((name) => fields[name])
  }
  const presets = ['preset_modes', 'preset_mode_state_topic']
  const shown = 'my/host/plugins/@acme/heat.pump/exposed/it'
  assert.deepEqual(of('climate', { presets: ['none', 'eco'] }, ...presets), [['eco'], shown])
  assert.deepEqual(of('climate', { step: 0 }, 'temp_step'), [undefined])
  assert.deepEqual(of('fan', { presets: ['None', 'sleep'] }, ...presets), [['sleep'], shown])
  assert.deepEqual(of('fan', { options: ['sleep'], features: ['state'], writable: ['state'] }, ...presets), [
    undefined,
    undefined,
  ])
  const speeds = ['speed_range_max', 'percentage_command_topic', 'percentage_state_topic']
  const set = `${shown}/speed/set`
  assert.deepEqual(of('fan', {}, ...speeds), [undefined, set, shown])
  assert.deepEqual(of('fan', { max: 2.5 }, ...speeds), [2, set, shown])
  assert.deepEqual(of('fan', { max: 1 }, ...speeds), [undefined, undefined, undefined])
  assert.deepEqual(of('light', { max: 0.5 }, 'brightness_scale'), [undefined])
  assert.deepEqual(of('light', { max: 100.5 }, 'brightness_scale'), [100])
})

test('A component with only one feature of many is taken too', () => {
  for (const component of exposedComponents) {
    for (const feature of Object.keys(featuresOf(component))) {
      const commanded = featuresOf(component)[feature]?.commanded === true ? [feature] : []
      const state = ['light', 'fan', 'siren', 'humidifier'].includes(component) ? ['state'] : []
      const exposure = complete(component, {
        features: [feature],
        writable: [...new Set([...state, ...commanded])],
      })
      assert.deepEqual(mistakesIn(discover({ one: exposure })), [], `${component}.${feature}`)
    }
  }
})

test('One plugin is one device, there when its host and itself are', () => {
  const payload = discover(
    { 'one two': complete('binary_sensor', { name: 'Door', icon: 'door', area: 'Hall' }) },
    { ...plugin, homepage: 'https://example.com/pump' },
  )
  assert.deepEqual(payload, {
    dev: {
      ids: ['lupine_home_@acme/heat.pump'],
      name: 'Heat pump',
      mf: 'Acme',
      mdl: '@acme/heat.pump',
      sw: '1.4.0',
      cu: 'https://example.com/pump',
      sa: 'Hall',
    },
    o: { name: 'Lupine', sw: '3.2.1' },
    availability: [
      { topic: 'my/host/status' },
      {
        topic: 'my/host/plugins/@acme/heat.pump/state',
        value_template:
          "{{ 'online' if value_json is defined and value_json.state == 'running' else 'offline' }}",
      },
    ],
    availability_mode: 'all',
    cmps: {
      one_two_8ab63e29: {
        p: 'binary_sensor',
        unique_id: 'home_acme_heat_pump_one_two_8ab63e29',
        name: 'Door',
        icon: 'mdi:door',
        state_topic: 'my/host/plugins/@acme/heat.pump/exposed/one two',
        value_template:
          "{{ ('ON' if value_json.state else 'OFF') if value_json is defined and value_json.state is boolean else None }}",
      },
    },
  })
})

test('Ids that look the same without their special characters stay different', () => {
  const ids = ['a b', 'a_b', 'a/b', 'a+b', 'ä', 'ö', 'a-b']
  const payload = discover(Object.fromEntries(ids.map((id) => [id, complete('sensor')])))
  assert.deepEqual(mistakesIn(payload), [])
  assert.equal(Object.keys(payload.cmps ?? {}).length, ids.length)
  const topics = Object.values(payload.cmps as Record<string, JsonObject>).map(
    ({ state_topic }) => state_topic,
  )
  assert.equal(new Set(topics).size, ids.length)
})

test('A device is in an area only when all of it is', () => {
  const area = (...areas: (string | undefined)[]): unknown => {
    const exposures = areas.map((name, index) => [
      `e${index}`,
      complete('sensor', name === undefined ? {} : { area: name }),
    ])
    return (discover(Object.fromEntries(exposures)).dev as JsonObject).sa
  }
  assert.deepEqual(
    [area('Hall', 'Hall'), area('Hall', 'Attic'), area('Hall', undefined), area(undefined)],
    ['Hall', undefined, undefined, undefined],
  )
})

const at = 'my/host/plugins/@acme/heat.pump/exposed/it'
const to = (feature: string): string => `${at}/${feature}/set`
const value = (feature: string): string => `{{ value_json.${feature} if value_json is defined else None }}`
const known = (feature: string): string =>
  `{{ value_json.${feature} if value_json is defined and value_json.${feature} is not none else '' }}`
const whole = (feature: string): string =>
  `{{ value_json.${feature} | round | int if value_json is defined and value_json.${feature} is not none else '' }}`
const onOff = (feature: string): string =>
  `{{ ('ON' if value_json.${feature} else 'OFF') if value_json is defined and value_json.${feature} is boolean else None }}`

const expected: [exposure: Exposure, fields: JsonObject][] = [
  [
    complete('sensor', { unit: 'W', deviceClass: 'power', stateClass: 'measurement' }),
    {
      state_topic: at,
      value_template: value('value'),
      unit_of_measurement: 'W',
      device_class: 'power',
      state_class: 'measurement',
    },
  ],
  [
    complete('sensor', { type: 'select', options: ['a', 'b'] }),
    { state_topic: at, value_template: value('value'), device_class: 'enum', options: ['a', 'b'] },
  ],
  [
    complete('sensor', { deviceClass: 'enum', options: ['a', 'b'] }),
    { state_topic: at, value_template: value('value'), device_class: 'enum', options: ['a', 'b'] },
  ],
  [
    complete('sensor', { deviceClass: 'timestamp' }),
    {
      state_topic: at,
      value_template:
        "{{ (value_json.value | timestamp_custom('%Y-%m-%dT%H:%M:%SZ', false) if value_json.value is number else value_json.value) if value_json is defined else None }}",
      device_class: 'timestamp',
    },
  ],
  [
    complete('switch', { deviceClass: 'outlet' }),
    {
      command_topic: `${at}/state/set`,
      state_topic: at,
      value_template: onOff('state'),
      device_class: 'outlet',
    },
  ],
  [
    complete('number', { min: 0, max: 10, step: 0.00001, unit: '%' }),
    {
      command_topic: `${at}/value/set`,
      state_topic: at,
      value_template: value('value'),
      min: 0,
      max: 10,
      step: 0.001,
      mode: 'auto',
      unit_of_measurement: '%',
    },
  ],
  [
    complete('number', { min: 5 }),
    {
      command_topic: `${at}/value/set`,
      state_topic: at,
      value_template: value('value'),
      min: 5,
      max: 1_000_000,
      mode: 'box',
    },
  ],
  // A value of it would be out of any bounds that end before it.
  [
    complete('number', { min: 2_000_000 }),
    {
      command_topic: `${at}/value/set`,
      state_topic: at,
      value_template: value('value'),
      min: 2_000_000,
      max: 4_000_000,
      mode: 'box',
    },
  ],
  [
    complete('number', { max: -1_000_000 }),
    {
      command_topic: `${at}/value/set`,
      state_topic: at,
      value_template: value('value'),
      min: -2_000_000,
      max: -1_000_000,
      mode: 'box',
    },
  ],
  [
    complete('select', { options: ['a', 'b'] }),
    {
      command_topic: `${at}/value/set`,
      state_topic: at,
      value_template: value('value'),
      options: ['a', 'b'],
    },
  ],
  [
    complete('text', { max: 999 }),
    { command_topic: `${at}/value/set`, state_topic: at, value_template: known('value'), min: 0, max: 255 },
  ],
  [
    complete('button', { deviceClass: 'restart' }),
    { command_topic: `${at}/press/set`, payload_press: 'PRESS', device_class: 'restart' },
  ],
  [
    complete('light', {
      max: 100,
      options: ['rainbow'],
      features: ['state', 'brightness', 'color_temp', 'color', 'effect'],
      writable: ['state', 'brightness', 'color_temp', 'color', 'effect'],
    }),
    {
      command_topic: `${at}/state/set`,
      state_topic: at,
      state_value_template: onOff('state'),
      brightness_command_topic: `${at}/brightness/set`,
      brightness_state_topic: at,
      brightness_value_template: known('brightness'),
      brightness_scale: 100,
      color_temp_command_topic: `${at}/color_temp/set`,
      color_temp_state_topic: at,
      color_temp_value_template: whole('color_temp'),
      rgb_command_topic: `${at}/color/set`,
      rgb_state_topic: at,
      rgb_value_template: known('color'),
      effect_command_topic: `${at}/effect/set`,
      effect_state_topic: at,
      effect_value_template: known('effect'),
      effect_list: ['rainbow'],
    },
  ],
  [
    complete('climate', {
      ...{ min: 5, max: 30, step: 0.5, unit: '°F', options: ['off', 'heat'] },
      features: [
        'target_temperature',
        'current_temperature',
        'current_humidity',
        'mode',
        'action',
        'fan_mode',
      ],
      writable: ['target_temperature', 'mode', 'fan_mode'],
    }),
    {
      temperature_command_topic: `${at}/target_temperature/set`,
      temperature_state_topic: at,
      temperature_state_template: value('target_temperature'),
      current_temperature_topic: at,
      current_temperature_template: value('current_temperature'),
      current_humidity_topic: at,
      current_humidity_template: value('current_humidity'),
      mode_command_topic: `${at}/mode/set`,
      mode_state_topic: at,
      mode_state_template: value('mode'),
      action_topic: at,
      action_template: value('action'),
      fan_mode_command_topic: `${at}/fan_mode/set`,
      fan_mode_state_topic: at,
      fan_mode_state_template: value('fan_mode'),
      modes: ['off', 'heat'],
      min_temp: 5,
      max_temp: 30,
      temp_step: 0.5,
      temperature_unit: 'F',
    },
  ],
  [
    complete('cover', { deviceClass: 'blind' }),
    {
      command_topic: `${at}/state/set`,
      state_topic: at,
      value_template: value('state'),
      set_position_topic: `${at}/position/set`,
      position_topic: at,
      position_template: known('position'),
      tilt_command_topic: `${at}/tilt/set`,
      tilt_status_topic: at,
      tilt_status_template: known('tilt'),
      device_class: 'blind',
    },
  ],
  [
    complete('cover', { features: ['position'], writable: ['state', 'position'] }),
    {
      command_topic: `${at}/state/set`,
      set_position_topic: `${at}/position/set`,
      position_topic: at,
      position_template: known('position'),
      payload_stop: null,
    },
  ],
  [
    complete('fan', { max: 3, options: ['quiet'] }),
    {
      command_topic: `${at}/state/set`,
      state_topic: at,
      state_value_template: onOff('state'),
      percentage_command_topic: `${at}/speed/set`,
      percentage_state_topic: at,
      percentage_value_template: whole('speed'),
      speed_range_max: 3,
      oscillation_command_topic: `${at}/oscillation/set`,
      oscillation_state_topic: at,
      oscillation_value_template: onOff('oscillation'),
      payload_oscillation_on: 'ON',
      payload_oscillation_off: 'OFF',
      preset_mode_command_topic: `${at}/preset_mode/set`,
      preset_mode_state_topic: at,
      preset_mode_value_template: known('preset_mode'),
      preset_modes: ['quiet'],
    },
  ],
  [
    complete('lock'),
    {
      command_topic: to('state'),
      state_topic: at,
      value_template: value('state'),
      ...{ payload_lock: 'lock', payload_unlock: 'unlock', payload_open: 'open' },
      ...{ state_locked: 'locked', state_unlocked: 'unlocked', state_jammed: 'jammed' },
    },
  ],
  [
    complete('valve', { deviceClass: 'water' }),
    {
      command_topic: to('position'),
      state_topic: at,
      value_template: known('position'),
      reports_position: true,
      device_class: 'water',
    },
  ],
  [
    complete('siren', { tones: ['bell'] }),
    {
      command_topic: to('state'),
      state_topic: at,
      state_value_template: onOff('state'),
      ...{ support_duration: true, support_volume_set: true, available_tones: ['bell'] },
    },
  ],
  [
    complete('lawn_mower'),
    {
      activity_state_topic: at,
      activity_value_template: value('activity'),
      start_mowing_command_topic: to('command'),
      start_mowing_command_template: "{{ 'start' }}",
      pause_command_topic: to('command'),
      pause_command_template: "{{ 'pause' }}",
      dock_command_topic: to('command'),
      dock_command_template: "{{ 'dock' }}",
    },
  ],
  [complete('device_tracker'), { json_attributes_topic: at, source_type: 'gps' }],
  [complete('notify'), { command_topic: to('message') }],
  [
    complete('update'),
    {
      state_topic: at,
      value_template: known('installed_version'),
      latest_version_topic: at,
      latest_version_template: known('latest_version'),
      command_topic: to('install'),
      payload_install: 'install',
    },
  ],
  [
    complete('light', { features: ['state', 'kelvin', 'xy'], writable: ['state', 'kelvin', 'xy'] }),
    {
      command_topic: to('state'),
      state_topic: at,
      state_value_template: onOff('state'),
      color_temp_command_topic: to('kelvin'),
      color_temp_state_topic: at,
      color_temp_value_template: whole('kelvin'),
      color_temp_kelvin: true,
      xy_command_topic: to('xy'),
      xy_state_topic: at,
      xy_value_template: known('xy'),
    },
  ],
  [
    complete('event', { options: ['ring'], deviceClass: 'doorbell' }),
    { state_topic: at, event_types: ['ring'], device_class: 'doorbell' },
  ],
]

for (const [exposure, fields] of expected) {
  test(`A ${exposure.component} with ${exposure.features.join(', ')} has exactly its topics and templates`, () => {
    const { p, unique_id, name, ...rest } = componentOf(exposure)
    assert.deepEqual(rest, fields)
    assert.deepEqual(
      { p, unique_id, name },
      {
        p: exposure.component,
        unique_id: 'home_acme_heat_pump_it',
        name: exposure.name,
      },
    )
  })
}

test('What is gone, or has become another component, is named by its platform alone; so is what gets another id', () => {
  const of = (exposures: Record<string, Exposure>) =>
    discoveryOf(
      context,
      plugin,
      Object.entries(exposures).map(([id, exposure]) => ({ id, exposure, state: {} })),
    )
  const before = of({ a: complete('sensor'), b: complete('light'), c: complete('sensor') })
  const after = of({ a: complete('binary_sensor'), c: complete('sensor') })
  assert.deepEqual(removalOf(before, after)?.cmps as JsonObject, {
    ...(after.payload.cmps as JsonObject),
    a: { p: 'sensor' },
    b: { p: 'light' },
  })
  assert.deepEqual(Object.keys(removalOf(after, before)?.cmps ?? {}).sort(), ['a', 'b', 'c'])
  assert.equal(removalOf(before, before), undefined)
  const renamed = { ...before, uniqueIds: new Map([...before.uniqueIds, ['b', 'another']]) }
  assert.deepEqual(removalOf(renamed, before)?.cmps as JsonObject, {
    ...(before.payload.cmps as JsonObject),
    b: { p: 'light' },
  })
})

test('A device that a plugin bridges has its own message, with what any of its exposures says of it', () => {
  const view = (id: string, device: Exposure['device']) => ({
    id,
    exposure: { ...complete('sensor'), ...(device && { device }) },
    state: {},
  })
  const bulb = [
    view('a', {
      id: 'bulb-1',
      name: 'Bulb',
      model: 'B1',
      manufacturer: 'Acme',
      serial: '77',
      version: '2',
      area: 'Hall',
      via: 'bridge',
    }),
    view('b', { id: 'bulb-1' }),
  ]
  const { payload } = discoveryOf(context, plugin, bulb, new Set(['bridge', 'bulb-1']))
  assert.deepEqual(mistakesIn(payload), [])
  assert.deepEqual(payload.dev, {
    ids: ['lupine_home_@acme/heat.pump/bulb-1'],
    name: 'Bulb',
    mf: 'Acme',
    mdl: 'B1',
    sn: '77',
    sw: '2',
    sa: 'Hall',
    via_device: 'lupine_home_@acme/heat.pump/bridge',
  })
  assert.deepEqual(Object.keys(payload.cmps as JsonObject), ['a', 'b'])
  const other = discoveryOf(context, plugin, [view('c', { id: 'x', via: 'zigbee_0x1' })]).payload
  assert.deepEqual(other.dev, {
    ids: ['lupine_home_@acme/heat.pump/x'],
    name: 'x',
    mf: 'Acme',
    via_device: 'zigbee_0x1',
  })
})

test('What says itself whether it is available adds its state topic to the conditions', () => {
  const component = componentOf(complete('switch', { tellsAvailability: true }))
  assert.deepEqual(mistakesIn(discover({ it: complete('switch', { tellsAvailability: true }) })), [])
  assert.deepEqual(
    (component.availability as JsonObject[]).map(({ topic }) => topic),
    ['my/host/status', 'my/host/plugins/@acme/heat.pump/state', 'my/host/plugins/@acme/heat.pump/exposed/it'],
  )
  assert.equal(component.availability_mode, 'all')
})
