import type { Json, JsonObject } from '../../src/base/text/json.ts'

/**
 * What Home Assistant documents of its MQTT device discovery: the fields of each platform, the ones that it
 * cannot do without, and what kind of value each is. A payload with another field, or without a required one,
 * is a mistake that Home Assistant may only tell in its log.
 */

type Kind = 'publish' | 'subscribe' | 'template' | 'text' | 'number' | 'list' | 'icon' | 'flag' | 'any'

interface Platform {
  required: readonly string[]
  fields: Readonly<Record<string, Kind>>
}

const entity: Record<string, Kind> = {
  ...{ p: 'text', unique_id: 'text', name: 'text', icon: 'icon' },
  ...{ availability: 'any', availability_mode: 'text' },
}
const readable: Record<string, Kind> = { state_topic: 'subscribe', value_template: 'template' }
const both: Record<string, Kind> = { ...readable, command_topic: 'publish' }
const texts = (names: string): Record<string, Kind> =>
  Object.fromEntries(names.split(' ').map((name) => [name, 'text']))
/** `prefix_command_topic` and so on. */
const named = (prefix: string, template = 'value_template'): Record<string, Kind> => ({
  [`${prefix}_command_topic`]: 'publish',
  [`${prefix}_state_topic`]: 'subscribe',
  [`${prefix}_${template}`]: 'template',
})

export const documentedPlatforms: Readonly<Record<string, Platform>> = {
  sensor: {
    required: ['state_topic'],
    fields: {
      ...readable,
      unit_of_measurement: 'text',
      device_class: 'text',
      state_class: 'text',
      options: 'list',
    },
  },
  binary_sensor: { required: ['state_topic'], fields: { ...readable, device_class: 'text' } },
  switch: { required: ['command_topic'], fields: { ...both, device_class: 'text' } },
  number: {
    required: ['command_topic'],
    fields: {
      ...both,
      min: 'number',
      max: 'number',
      step: 'number',
      mode: 'text',
      unit_of_measurement: 'text',
      device_class: 'text',
    },
  },
  select: { required: ['command_topic', 'options'], fields: { ...both, options: 'list' } },
  text: { required: ['command_topic'], fields: { ...both, min: 'number', max: 'number' } },
  button: {
    required: ['command_topic'],
    fields: { command_topic: 'publish', payload_press: 'text', device_class: 'text' },
  },
  light: {
    required: ['command_topic'],
    fields: {
      command_topic: 'publish',
      state_topic: 'subscribe',
      state_value_template: 'template',
      ...named('brightness'),
      brightness_scale: 'number',
      ...named('color_temp'),
      ...named('rgb'),
      color_temp_kelvin: 'flag',
      ...named('xy'),
      ...named('effect'),
      effect_list: 'list',
    },
  },
  climate: {
    required: [],
    fields: {
      ...named('temperature', 'state_template'),
      current_temperature_topic: 'subscribe',
      current_temperature_template: 'template',
      current_humidity_topic: 'subscribe',
      current_humidity_template: 'template',
      ...named('mode', 'state_template'),
      modes: 'list',
      action_topic: 'subscribe',
      action_template: 'template',
      ...named('fan_mode', 'state_template'),
      fan_modes: 'list',
      ...named('preset_mode'),
      preset_modes: 'list',
      ...named('swing_mode', 'state_template'),
      swing_modes: 'list',
      ...named('temperature_low', 'state_template'),
      ...named('temperature_high', 'state_template'),
      min_temp: 'number',
      max_temp: 'number',
      temp_step: 'number',
      temperature_unit: 'text',
    },
  },
  cover: {
    required: [],
    fields: {
      ...both,
      payload_stop: 'any',
      set_position_topic: 'publish',
      position_topic: 'subscribe',
      position_template: 'template',
      tilt_command_topic: 'publish',
      tilt_status_topic: 'subscribe',
      tilt_status_template: 'template',
      device_class: 'text',
    },
  },
  fan: {
    required: ['command_topic'],
    fields: {
      command_topic: 'publish',
      state_topic: 'subscribe',
      state_value_template: 'template',
      ...named('percentage'),
      speed_range_max: 'number',
      ...named('oscillation'),
      payload_oscillation_on: 'text',
      payload_oscillation_off: 'text',
      ...named('preset_mode'),
      preset_modes: 'list',
    },
  },
  lock: {
    required: ['command_topic'],
    fields: {
      ...both,
      ...texts('payload_lock payload_unlock payload_open state_locked state_unlocked state_jammed'),
    },
  },
  valve: {
    required: [],
    fields: {
      ...both,
      ...texts('payload_open payload_close payload_stop device_class'),
      reports_position: 'flag',
    },
  },
  alarm_control_panel: {
    required: ['command_topic', 'state_topic'],
    fields: {
      ...both,
      ...texts(
        'payload_arm_home payload_arm_away payload_arm_night payload_arm_vacation payload_arm_custom_bypass',
      ),
      ...texts('payload_disarm payload_trigger'),
      ...{ code_arm_required: 'flag', code_disarm_required: 'flag', code_trigger_required: 'flag' },
      supported_features: 'list',
    },
  },
  vacuum: {
    required: [],
    fields: {
      ...{ state_topic: 'subscribe', command_topic: 'publish', set_fan_speed_topic: 'publish' },
      ...{ fan_speed_list: 'list', supported_features: 'list' },
      ...texts(
        'payload_start payload_pause payload_stop payload_return_to_base payload_clean_spot payload_locate',
      ),
    },
  },
  siren: {
    required: ['command_topic'],
    fields: {
      ...{ command_topic: 'publish', state_topic: 'subscribe', state_value_template: 'template' },
      ...{ available_tones: 'list', support_duration: 'flag', support_volume_set: 'flag' },
    },
  },
  humidifier: {
    required: ['command_topic', 'target_humidity_command_topic'],
    fields: {
      ...{ command_topic: 'publish', state_topic: 'subscribe', state_value_template: 'template' },
      ...named('target_humidity', 'state_template'),
      ...{ current_humidity_topic: 'subscribe', current_humidity_template: 'template' },
      ...named('mode', 'state_template'),
      ...{ modes: 'list', min_humidity: 'number', max_humidity: 'number', device_class: 'text' },
    },
  },
  water_heater: {
    required: [],
    fields: {
      ...named('temperature', 'state_template'),
      ...{ current_temperature_topic: 'subscribe', current_temperature_template: 'template' },
      ...named('mode', 'state_template'),
      ...{ modes: 'list', min_temp: 'number', max_temp: 'number', temperature_unit: 'text' },
    },
  },
  lawn_mower: {
    required: [],
    fields: {
      ...{ activity_state_topic: 'subscribe', activity_value_template: 'template' },
      ...{ start_mowing_command_topic: 'publish', start_mowing_command_template: 'template' },
      ...{ pause_command_topic: 'publish', pause_command_template: 'template' },
      ...{ dock_command_topic: 'publish', dock_command_template: 'template' },
    },
  },
  device_tracker: {
    required: [],
    fields: { json_attributes_topic: 'subscribe', source_type: 'text' },
  },
  image: { required: ['url_topic'], fields: { url_topic: 'subscribe', url_template: 'template' } },
  update: {
    required: [],
    fields: {
      ...both,
      ...{ latest_version_topic: 'subscribe', latest_version_template: 'template' },
      ...texts('payload_install device_class'),
    },
  },
  date: { required: ['command_topic'], fields: both },
  time: { required: ['command_topic'], fields: both },
  datetime: { required: ['command_topic'], fields: both },
  notify: { required: ['command_topic'], fields: { command_topic: 'publish' } },
  event: {
    required: ['state_topic', 'event_types'],
    fields: { state_topic: 'subscribe', event_types: 'list', device_class: 'text' },
  },
}

/** Fields that Home Assistant wants together: the first only with the second. */
const together: readonly (readonly [string, string])[] = [
  ['set_position_topic', 'position_topic'],
  ['preset_mode_command_topic', 'preset_modes'],
  ['preset_modes', 'preset_mode_command_topic'],
]

const isTopic = (value: Json): boolean => typeof value === 'string' && value !== '' && !/[+#]/.test(value)

const kinds: Readonly<Record<Kind, (value: Json) => boolean>> = {
  publish: (value) => isTopic(value) && JSON.stringify(value).endsWith('/set"'),
  subscribe: isTopic,
  template: (value) => typeof value === 'string' && value.startsWith('{{ ') && value.endsWith(' }}'),
  text: (value) => typeof value === 'string' && value !== '',
  number: (value) => typeof value === 'number' && Number.isFinite(value),
  list: (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
  icon: (value) => typeof value === 'string' && /^[a-z]+:.+/.test(value),
  flag: (value) => typeof value === 'boolean',
  any: () => true,
}

function component(key: string, fields: JsonObject): string[] {
  const platform = typeof fields.p === 'string' ? documentedPlatforms[fields.p] : undefined
  if (platform === undefined) return [`${key}: unknown platform ${JSON.stringify(fields.p)}`]
  const known = { ...entity, ...platform.fields }
  const missing = ['p', 'unique_id', ...platform.required].filter((name) => fields[name] === undefined)
  const alone = together.filter(([one, other]) => fields[one] !== undefined && fields[other] === undefined)
  const { min, max } = fields
  return [
    ...missing.map((name) => `${key}: ${name} is required`),
    ...alone.map(([one, other]) => `${key}: ${one} needs ${other}`),
    ...Object.entries(fields)
      .filter(([name, value]) => !(known[name] !== undefined && kinds[known[name]](value)))
      .map(([name, value]) => `${key}: ${name} may not be ${JSON.stringify(value)}`),
    ...(typeof min === 'number' && typeof max === 'number' && min >= max
      ? [`${key}: min is not below max`]
      : []),
  ]
}

const envelope = ['dev', 'o', 'availability', 'availability_mode', 'cmps']
const deviceFields = ['ids', 'name', 'mf', 'mdl', 'sn', 'sw', 'cu', 'sa', 'via_device']

/** All that Home Assistant would not take of a discovery payload; empty when it takes everything. */
export function mistakesIn(payload: JsonObject): string[] {
  const { dev, o, availability, availability_mode, cmps } = payload as Record<string, JsonObject>
  const entries = Object.entries(cmps ?? {}) as [string, JsonObject][]
  const identifiers = entries.map(([, fields]) => fields.unique_id)
  return [
    ...Object.keys(payload)
      .filter((name) => !envelope.includes(name))
      .map((name) => `${name} is no field of a device`),
    ...Object.entries(dev ?? {})
      .filter(([name, value]) => !deviceFields.includes(name) || !(kinds.text(value) || kinds.list(value)))
      .map(([name]) => `dev: ${name} is wrong`),
    ...(kinds.list(dev?.ids ?? null) && (dev?.ids as string[]).length > 0 ? [] : ['dev: ids are required']),
    ...(kinds.text(o?.name ?? null) ? [] : ['o: name is required']),
    ...(Array.isArray(availability) &&
    availability.every((entry) => kinds.subscribe((entry as JsonObject).topic ?? null))
      ? []
      : ['availability is wrong']),
    ...(JSON.stringify(availability_mode) === '"all"' ? [] : ['availability_mode is not all']),
    ...(new Set(identifiers).size === identifiers.length ? [] : ['unique_id is not unique']),
    ...entries.flatMap(([key, fields]) => component(key, fields)),
  ]
}
