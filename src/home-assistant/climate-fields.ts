import {
  choices,
  feature,
  type FieldNames,
  type Fields,
  fields,
  type FieldsOf,
  named,
  namedByState,
  onOffOfMany,
  range,
  readOnly,
  simple,
  template,
} from './feature-fields.ts'

/** The fields of what keeps a temperature, or the humidity of the air: a target, what is measured, and modes. */

const climateFeatures: Readonly<Record<string, FieldNames>> = {
  target_temperature: namedByState('temperature'),
  current_temperature: readOnly('current_temperature'),
  current_humidity: readOnly('current_humidity'),
  mode: namedByState('mode'),
  action: readOnly('action'),
  fan_mode: namedByState('fan_mode'),
  preset_mode: named('preset_mode'),
  swing_mode: namedByState('swing_mode'),
  target_temperature_low: namedByState('temperature_low'),
  target_temperature_high: namedByState('temperature_high'),
}

/** Home Assistant converts to the degrees that its owner uses. */
const degrees = (unit: string | undefined): 'F' | 'C' | undefined =>
  unit === undefined ? undefined : /F$/i.test(unit) ? 'F' : 'C'

export const climate: FieldsOf = (exposure, topics) => {
  const { min, max, step, unit, features } = exposure
  // Home Assistant adds this one itself, and takes nothing of an entity that lists it, too.
  const presets = choices(exposure, 'preset_mode')?.filter((one) => one !== 'none')
  const all: Fields = {}
  for (const [name, names] of Object.entries(climateFeatures)) {
    // A preset can only be chosen from a list.
    if (name === 'preset_mode' && presets === undefined) continue
    Object.assign(all, feature(exposure, topics, name, names, template.value))
  }
  const bounds = range(min, max)
  return {
    ...all,
    ...fields({
      // Without a mode there is none to choose.
      modes: features.includes('mode') ? choices(exposure, 'mode') : [],
      preset_modes: all.preset_mode_command_topic === undefined ? undefined : presets,
      fan_modes: choices(exposure, 'fan_mode'),
      swing_modes: choices(exposure, 'swing_mode'),
      min_temp: bounds.min,
      max_temp: bounds.max,
      temp_step: step === undefined || step <= 0 ? undefined : step,
      temperature_unit: degrees(unit),
    }),
  }
}

export const waterHeater: FieldsOf = (exposure, topics) => {
  const { min, max } = range(exposure.min, exposure.max)
  const all: Fields = {}
  for (const name of ['target_temperature', 'current_temperature', 'mode'])
    Object.assign(all, feature(exposure, topics, name, climateFeatures[name] ?? simple, template.value))
  return {
    ...all,
    ...fields({
      modes: exposure.features.includes('mode') ? choices(exposure, 'mode') : [],
      min_temp: min,
      max_temp: max,
      temperature_unit: degrees(exposure.unit),
    }),
  }
}

const humidifierClasses = ['humidifier', 'dehumidifier']
/** Home Assistant refuses one beyond 0 to 100 altogether. */
const humidity = (percent: number): number => Math.min(100, Math.max(0, percent))
export const humidifier: FieldsOf = (exposure, topics) => {
  const modes = choices(exposure, 'mode')
  const { min, max } = range(humidity(exposure.min ?? 0), humidity(exposure.max ?? 100))
  return {
    ...feature(exposure, topics, 'state', onOffOfMany, template.onOff),
    // Home Assistant does not know one without a target.
    target_humidity_command_topic: topics.command('target_humidity'),
    ...feature(exposure, topics, 'target_humidity', namedByState('target_humidity')),
    ...feature(exposure, topics, 'current_humidity', readOnly('current_humidity')),
    ...(modes === undefined ? {} : feature(exposure, topics, 'mode', namedByState('mode'))),
    ...(exposure.writable.includes('mode') ? fields({ modes }) : {}),
    ...fields({
      min_humidity: min,
      max_humidity: max,
      // With another one it takes none of the device's entry.
      device_class: humidifierClasses.find((one) => one === exposure.deviceClass),
    }),
  }
}
