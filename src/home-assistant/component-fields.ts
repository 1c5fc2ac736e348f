import type { JsonObject } from '../base/text/json.ts'
import type { ExposedComponent, Exposure } from '../schema/plugin/exposure.ts'
import { climate, humidifier, waterHeater } from './climate-fields.ts'
import {
  choices,
  type ComponentTopics,
  feature,
  fields,
  type FieldsOf,
  named,
  onOffOfMany,
  range,
  readOnly,
  simple,
  template,
} from './feature-fields.ts'
import { binarySensor, onOff } from './on-off-fields.ts'

/**
 * What Home Assistant's MQTT integration needs to know of each component, under the names that it documents.
 * The state topic holds one JSON object with a member for each feature. Pure functions.
 */

/** Bounds of a number that says none; Home Assistant would take 1 to 100. */
const widestNumber = 1_000_000
/** The finest step that Home Assistant takes. */
const finestStep = 0.001
/** Characters that a state of Home Assistant's has at most. */
const longestText = 255

const sensor: FieldsOf = (exposure, topics) => {
  const { unit, deviceClass, stateClass, options, type } = exposure
  const render = deviceClass === 'timestamp' ? template.time : template.value
  const common = feature(exposure, topics, 'value', simple, render)
  const isList = type === 'select' || deviceClass === 'enum'
  // A list of values goes with neither a unit nor a state class.
  if (isList && options !== undefined && unit === undefined && stateClass === undefined)
    return { ...common, device_class: 'enum', options }
  return {
    ...common,
    ...fields({ unit_of_measurement: unit, device_class: deviceClass, state_class: stateClass }),
  }
}

const number: FieldsOf = (exposure, topics) => {
  const { min, max, step, unit, deviceClass } = exposure
  // Beyond the one bound that is said there has to be room, too.
  const widest = Math.min(Math.max(widestNumber, 2 * Math.abs(min ?? max ?? 0)), Number.MAX_VALUE)
  const [least, most] = [min ?? -widest, max ?? widest]
  return {
    ...feature(exposure, topics, 'value', simple, template.value),
    ...(least < most ? { min: least, max: most } : { min: -widestNumber, max: widestNumber }),
    // A slider over millions is of no use.
    mode: min === undefined || max === undefined ? 'box' : 'auto',
    ...fields({
      step: step === undefined || step <= 0 ? undefined : Math.max(step, finestStep),
      unit_of_measurement: unit,
      device_class: deviceClass,
    }),
  }
}

const select: FieldsOf = (exposure, topics) => ({
  ...feature(exposure, topics, 'value', simple, template.value),
  options: exposure.options ?? [],
})

const text: FieldsOf = (exposure, topics) => {
  const min = Math.max(0, exposure.min ?? 0)
  const max = Math.min(longestText, exposure.max ?? longestText)
  // Of a text `None` is a text like any other.
  return { ...feature(exposure, topics, 'value', simple, template.known), ...range(min, max) }
}

const button: FieldsOf = ({ deviceClass }, topics) => ({
  command_topic: topics.command('press'),
  payload_press: 'PRESS',
  ...fields({ device_class: deviceClass }),
})

/** Full brightness and speed, of which Home Assistant takes whole numbers; of less than these it takes none of the entity. */
const leastBrightness = 1
const leastSpeed = 2
const orNone = (max: number | undefined, least: number): number | undefined =>
  max === undefined || max < least ? undefined : Math.trunc(max)

const light: FieldsOf = (exposure, topics) => {
  const { features, max } = exposure
  return {
    ...feature(exposure, topics, 'state', onOffOfMany, template.onOff),
    ...feature(exposure, topics, 'brightness', named('brightness')),
    ...(features.includes('brightness') ? fields({ brightness_scale: orNone(max, leastBrightness) }) : {}),
    ...feature(exposure, topics, 'color_temp', named('color_temp'), template.whole),
    ...(features.includes('kelvin')
      ? {
          ...feature(exposure, topics, 'kelvin', named('color_temp'), template.whole),
          color_temp_kelvin: true,
        }
      : {}),
    ...feature(exposure, topics, 'color', named('rgb')),
    ...feature(exposure, topics, 'xy', named('xy')),
    ...feature(exposure, topics, 'effect', named('effect')),
    ...(features.includes('effect') ? { effect_list: choices(exposure, 'effect') ?? [] } : {}),
  }
}

const cover: FieldsOf = (exposure, topics) => {
  const { features, writable, deviceClass } = exposure
  return {
    ...feature(exposure, topics, 'state', simple, template.value),
    ...(features.includes('position')
      ? feature(exposure, topics, 'position', ['set_position_topic', 'position_topic', 'position_template'])
      : {}),
    ...feature(exposure, topics, 'tilt', ['tilt_command_topic', 'tilt_status_topic', 'tilt_status_template']),
    // What is only a position cannot be stopped on its way.
    ...(writable.includes('state') && !features.includes('state') ? { payload_stop: null } : {}),
    ...fields({ device_class: deviceClass }),
  }
}

/** The word with which Home Assistant knows that a fan has no preset. */
const noPreset = 'None'
const fan: FieldsOf = (exposure, topics) => {
  const { features, max } = exposure
  const presets = choices(exposure, 'preset_mode')?.filter((one) => one !== noPreset)
  const highest = orNone(max, leastSpeed)
  // With one speed it is on or off, and nothing more.
  const hasSpeeds = max === undefined || highest !== undefined
  return {
    ...feature(exposure, topics, 'state', onOffOfMany, template.onOff),
    ...(hasSpeeds ? feature(exposure, topics, 'speed', named('percentage'), template.whole) : {}),
    ...(features.includes('speed') ? fields({ speed_range_max: highest }) : {}),
    ...feature(exposure, topics, 'oscillation', named('oscillation'), template.onOff),
    ...(features.includes('oscillation')
      ? { payload_oscillation_on: 'ON', payload_oscillation_off: 'OFF' }
      : {}),
    // A preset can only be chosen from a list, and a list is nothing without a preset.
    ...(presets !== undefined && exposure.writable.includes('preset_mode')
      ? { ...feature(exposure, topics, 'preset_mode', named('preset_mode')), preset_modes: presets }
      : {}),
  }
}

/** Commands that are called as Home Assistant calls them. */
const payloads = (commands: readonly string[]): JsonObject =>
  Object.fromEntries(commands.map((command) => [`payload_${command}`, command]))

const event: FieldsOf = ({ options, deviceClass }, topics) => ({
  state_topic: topics.state,
  event_types: options ?? [],
  ...fields({ device_class: deviceClass }),
})

const lock: FieldsOf = (exposure, topics) => ({
  ...feature(exposure, topics, 'state', simple, template.value),
  ...payloads(['lock', 'unlock', 'open']),
  ...{ state_locked: 'locked', state_unlocked: 'unlocked', state_jammed: 'jammed' },
})

const valve: FieldsOf = (exposure, topics) => {
  const byPosition = exposure.features.includes('position')
  return {
    // One that reports its position is told a position, too.
    ...(byPosition
      ? { ...feature(exposure, topics, 'position', simple, template.known), reports_position: true }
      : {
          ...feature(exposure, topics, 'state', simple, template.value),
          ...{ payload_open: 'OPEN', payload_close: 'CLOSE', payload_stop: 'STOP' },
        }),
    ...fields({ device_class: exposure.deviceClass }),
  }
}

const armings = ['arm_home', 'arm_away', 'arm_night', 'arm_vacation', 'arm_custom_bypass', 'trigger']
const alarm: FieldsOf = (exposure, topics) => ({
  ...feature(exposure, topics, 'state', simple, template.value),
  ...payloads([...armings, 'disarm']),
  ...{ code_arm_required: false, code_disarm_required: false, code_trigger_required: false },
  supported_features: armings.filter((command) => exposure.options?.includes(command) ?? true),
})

const vacuum: FieldsOf = (exposure, topics) => {
  const { writable } = exposure
  const speeds = writable.includes('fan_speed') ? choices(exposure, 'fan_speed') : undefined
  return {
    state_topic: topics.state,
    ...(writable.includes('command')
      ? {
          command_topic: topics.command('command'),
          ...payloads(['start', 'pause', 'stop', 'locate', 'return_to_base', 'clean_spot']),
        }
      : {}),
    ...(speeds === undefined
      ? {}
      : { set_fan_speed_topic: topics.command('fan_speed'), fan_speed_list: speeds }),
    supported_features: [
      ...(writable.includes('command')
        ? ['start', 'pause', 'stop', 'return_home', 'clean_spot', 'locate']
        : []),
      ...(speeds === undefined ? [] : ['fan_speed']),
    ],
  }
}

const siren: FieldsOf = (exposure, topics) => {
  const tones = exposure.features.includes('tone') ? choices(exposure, 'tone') : undefined
  return {
    ...feature(exposure, topics, 'state', onOffOfMany, template.onOff),
    support_duration: exposure.writable.includes('duration'),
    support_volume_set: exposure.writable.includes('volume'),
    ...fields({ available_tones: tones }),
  }
}

/** What Home Assistant has a lawn mower do, with the words for it. */
const mowing = { start_mowing: 'start', pause: 'pause', dock: 'dock' }
const activityNames = ['activity_state_topic', 'activity_value_template'] as const
const lawnMower: FieldsOf = (exposure, topics) => ({
  ...feature(exposure, topics, 'activity', [null, ...activityNames], template.value),
  ...(exposure.writable.includes('command')
    ? Object.fromEntries(
        Object.entries(mowing).flatMap(([name, word]) => [
          [`${name}_command_topic`, topics.command('command')],
          [`${name}_command_template`, `{{ '${word}' }}`],
        ]),
      )
    : {}),
})

/** Its state topic is on its way out: the position, or the zones, say where it is. */
const deviceTracker: FieldsOf = (_exposure, topics) => ({
  json_attributes_topic: topics.state,
  source_type: 'gps',
})

const image: FieldsOf = (exposure, topics) => feature(exposure, topics, 'url', readOnly('url'))

const update: FieldsOf = (exposure, topics) => ({
  ...feature(exposure, topics, 'installed_version', [null, 'state_topic', 'value_template']),
  ...feature(exposure, topics, 'latest_version', readOnly('latest_version')),
  ...(exposure.writable.includes('install')
    ? { command_topic: topics.command('install'), payload_install: 'install' }
    : {}),
  ...fields({ device_class: exposure.deviceClass }),
})

const moment: FieldsOf = (exposure, topics) => feature(exposure, topics, 'value', simple, template.value)

const notify: FieldsOf = (_exposure, topics) => ({ command_topic: topics.command('message') })

const byComponent: Readonly<Record<ExposedComponent, FieldsOf>> = {
  sensor,
  binary_sensor: binarySensor,
  switch: onOff,
  number,
  select,
  text,
  button,
  light,
  climate,
  cover,
  fan,
  event,
  lock,
  valve,
  alarm_control_panel: alarm,
  vacuum,
  siren,
  humidifier,
  water_heater: waterHeater,
  lawn_mower: lawnMower,
  device_tracker: deviceTracker,
  image,
  update,
  date: moment,
  time: moment,
  datetime: moment,
  notify,
}

/** All fields that are the component's own. */
export function componentFields(exposure: Exposure, topics: ComponentTopics): JsonObject {
  return byComponent[exposure.component](exposure, topics)
}
