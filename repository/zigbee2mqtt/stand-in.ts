import mqtt from 'mqtt'

/**
 * A Zigbee2MQTT as seen over MQTT: what it publishes (retained as the real one does), and how it answers `/set` and
 * `/get`. After the pages “MQTT Topics and Messages”, “Exposes” and “Device availability” of its documentation.
 */
export interface StandIn {
  readonly client: mqtt.MqttClient
  /** What came on `/set` and `/get`, as `name/set {…}`. */
  readonly commands: string[]
  /** Resolves with the commands as soon as there are so many. */
  taken(count: number): Promise<string[]>
  /** Replaces the devices, and tells it. */
  devices(list: readonly Device[]): Promise<void>
  groups(list: readonly Group[]): Promise<void>
  state(online: boolean): Promise<void>
  info(homeassistant: unknown): Promise<void>
  /** What a device says. */
  say(name: string, state: object, options?: { retain?: boolean }): Promise<void>
  available(name: string, online: boolean): Promise<void>
  close(): Promise<void>
}

export interface Device {
  ieee_address: string
  friendly_name: string
  type?: 'Coordinator' | 'Router' | 'EndDevice'
  disabled?: boolean
  supported?: boolean
  interviewing?: boolean
  interview_state?: string
  power_source?: string | null
  software_build_id?: string
  definition?: Definition | null
}

export interface Definition {
  model: string
  vendor: string
  description: string
  exposes: readonly object[]
}

export interface Group {
  id: number
  friendly_name: string
  members: readonly { ieee_address: string; endpoint: number }[]
}

const retained = { retain: true, qos: 1 } as const

export async function startStandIn(url: string, base = 'zigbee2mqtt'): Promise<StandIn> {
  const client = await mqtt.connectAsync(url)
  const commands: string[] = []
  const waiting = new Set<() => void>()
  client.on('message', (topic, payload) => {
    if (!/\/(set|get)$/.test(topic) || topic.startsWith(`${base}/bridge/`)) return
    commands.push(`${topic.slice(base.length + 1)} ${payload.toString()}`)
    for (const look of [...waiting]) look()
  })
  await client.subscribeAsync(`${base}/#`)
  const tell = async (topic: string, value: unknown): Promise<void> => {
    await client.publishAsync(`${base}/${topic}`, JSON.stringify(value), retained)
  }
  return {
    client,
    commands,
    taken: (count) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (commands.length < count) return
          waiting.delete(look)
          resolve(commands.slice(0, count))
        }
        waiting.add(look)
        look()
      }),
    devices: (list) =>
      tell(
        'bridge/devices',
        list.map((device) => ({
          type: 'Router',
          network_address: 1,
          supported: device.definition !== undefined && device.definition !== null,
          disabled: false,
          power_source: 'Mains (single phase)',
          endpoints: {
            '1': { bindings: [], configured_reportings: [], clusters: { input: [], output: [] } },
          },
          interviewing: false,
          interview_completed: true,
          ...device,
          definition: device.definition ?? null,
        })),
      ),
    groups: (list) => tell('bridge/groups', list),
    state: (online) => tell('bridge/state', { state: online ? 'online' : 'offline' }),
    info: (homeassistant) =>
      tell('bridge/info', { version: '2.1.3', config: { homeassistant, mqtt: { base_topic: base } } }),
    async say(name, state, { retain = false } = {}) {
      await client.publishAsync(`${base}/${name}`, JSON.stringify(state), { qos: 1, retain })
    },
    available: (name, online) => tell(`${name}/availability`, { state: online ? 'online' : 'offline' }),
    close: () => client.endAsync(true),
  }
}

const binary = (name: string, on: unknown, off: unknown, access: number, more: object = {}): object => ({
  ...{
    type: 'binary',
    name,
    label: label(name),
    property: name,
    value_on: on,
    value_off: off,
    access,
    ...more,
  },
})
const numeric = (name: string, unit: string | undefined, access: number, more: object = {}): object => ({
  ...{ type: 'numeric', name, label: label(name), property: name, access, ...more },
  ...(unit === undefined ? {} : { unit }),
})
const choice = (name: string, values: string[], access: number, more: object = {}): object => ({
  ...{ type: 'enum', name, label: label(name), property: name, values, access, ...more },
})
function label(name: string): string {
  const words = name.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

const battery = numeric('battery', '%', 1, { value_min: 0, value_max: 100, category: 'diagnostic' })
const linkquality = numeric('linkquality', 'lqi', 1, { value_min: 0, value_max: 255, category: 'diagnostic' })
const onOff = (property = 'state', endpoint?: string): object => ({
  ...binary('state', 'ON', 'OFF', 7, { property, value_toggle: 'TOGGLE' }),
  ...(endpoint === undefined ? {} : { endpoint }),
})

/** Definitions of each kind that Zigbee2MQTT documents. */
export const definitions = {
  bulb: {
    model: 'LED1624G9',
    vendor: 'IKEA',
    description: 'Bulb E27, colour',
    exposes: [
      {
        type: 'light',
        features: [
          onOff(),
          numeric('brightness', undefined, 7, { value_min: 0, value_max: 254 }),
          numeric('color_temp', 'mired', 7, {
            value_min: 250,
            value_max: 454,
            presets: [{ name: 'coolest', value: 250, description: 'Coolest temperature supported' }],
          }),
          {
            ...{ type: 'composite', name: 'color_xy', label: 'Color (X/Y)', property: 'color', access: 7 },
            features: [numeric('x', undefined, 7), numeric('y', undefined, 7)],
          },
          numeric('color_temp_startup', 'mired', 7, {
            value_min: 250,
            value_max: 454,
            presets: [{ name: 'previous', value: 65535, description: 'Restore on cold power on' }],
          }),
        ],
      },
      choice('effect', ['blink', 'okay'], 2),
      linkquality,
    ],
  },
  plug: {
    model: 'ZNCZ02LM',
    vendor: 'Xiaomi',
    description: 'Plug',
    exposes: [
      { type: 'switch', features: [onOff()] },
      numeric('power', 'W', 5),
      numeric('energy', 'kWh', 1),
      binary('child_lock', 'LOCK', 'UNLOCK', 3),
      numeric('overload', 'W', 7, { value_min: 100, value_max: 2300, value_step: 10 }),
      choice('power_on_behavior', ['off', 'on', 'previous'], 7, { category: 'config' }),
      linkquality,
    ],
  },
  climateSensor: {
    model: 'WSDCGQ01LM',
    vendor: 'Xiaomi',
    description: 'Temperature and humidity sensor',
    exposes: [battery, numeric('temperature', '°C', 1), numeric('humidity', '%', 1), linkquality],
  },
  doorSensor: {
    model: 'MCCGQ01LM',
    vendor: 'Xiaomi',
    description: 'Door sensor',
    exposes: [battery, binary('contact', false, true, 1), linkquality],
  },
  remote: {
    model: 'E1743',
    vendor: 'IKEA',
    description: 'Remote',
    exposes: [battery, choice('action', ['on', 'off'], 1), choice('identify', ['identify'], 2), linkquality],
  },
  twoSwitches: {
    model: 'TS0012',
    vendor: 'Tuya',
    description: 'Two switches',
    exposes: [
      { type: 'switch', endpoint: 'left', features: [onOff('state_left', 'left')] },
      { type: 'switch', endpoint: 'right', features: [onOff('state_right', 'right')] },
    ],
  },
  blind: {
    model: 'E1757',
    vendor: 'IKEA',
    description: 'Blind',
    exposes: [
      {
        type: 'cover',
        features: [
          binary('state', 'OPEN', 'CLOSE', 7),
          numeric('position', undefined, 7, { value_min: 0, value_max: 100 }),
        ],
      },
      battery,
    ],
  },
  lock: {
    model: 'YRD226',
    vendor: 'Yale',
    description: 'Lock',
    exposes: [
      {
        type: 'lock',
        features: [
          binary('state', 'LOCK', 'UNLOCK', 7),
          choice('lock_state', ['not_fully_locked', 'locked', 'unlocked'], 1),
        ],
      },
    ],
  },
  thermostat: {
    model: 'SPZB0001',
    vendor: 'Eurotronic',
    description: 'Thermostat',
    exposes: [
      {
        type: 'climate',
        features: [
          numeric('occupied_heating_setpoint', '°C', 7, { value_min: 5, value_max: 30, value_step: 0.5 }),
          numeric('local_temperature', '°C', 5),
          choice('system_mode', ['off', 'heat', 'auto', 'emergency_heating'], 7),
          choice('running_state', ['idle', 'heat'], 5),
          choice('preset', ['hold', 'program'], 7),
          numeric('local_temperature_calibration', '°C', 7, { value_min: -5, value_max: 5, value_step: 0.1 }),
        ],
      },
      {
        ...{
          type: 'list',
          name: 'schedule',
          label: 'Schedule',
          property: 'schedule',
          access: 3,
          length_max: 3,
        },
        item_type: {
          ...{ type: 'composite', name: 'day_time', label: 'Day time' },
          features: [choice('day', ['monday', 'sunday'], 3), numeric('hour', undefined, 3)],
        },
      },
      {
        ...{ type: 'composite', name: 'window', label: 'Window', property: 'window', access: 3 },
        features: [
          binary('open', true, false, 3),
          numeric('minutes', 'min', 3, { value_min: 0, value_max: 60 }),
        ],
      },
      battery,
    ],
  },
  fan: {
    model: '99432',
    vendor: 'Hampton Bay',
    description: 'Fan',
    exposes: [
      {
        type: 'fan',
        features: [
          binary('state', 'ON', 'OFF', 7, { property: 'fan_state' }),
          choice('mode', ['low', 'medium', 'high', 'auto'], 7, { property: 'fan_mode' }),
        ],
      },
      { type: 'text', name: 'inserted', label: 'Inserted', property: 'inserted', access: 1 },
    ],
  },
} as const satisfies Record<string, Definition>

export const coordinator: Device = {
  ...{ ieee_address: '0x00124b00120144ae', friendly_name: 'Coordinator', type: 'Coordinator' },
  power_source: null,
}
