/** What can be exposed, and by which features. Without schemas, so that the pages can use it too. */

/** What Home Assistant takes in the id of a device. */
export const deviceIdPattern = '^[A-Za-z0-9_-]+$'

/** What Home Assistant takes as the state class of a sensor; it shows none with another one. */
export const stateClasses = ['measurement', 'total', 'total_increasing', 'measurement_angle']

/** How a feature's value is read and written. */
export type FeatureKind =
  'siren' | 'boolean' | 'number' | 'text' | 'cover' | 'any' | 'press' | 'event' | 'list'

export interface FeatureDescription {
  kind: FeatureKind
  /** Names under which an object may know the feature; the first that answers counts. */
  names: readonly string[]
  /** All that it can be set to, if there are only some words. */
  commands?: readonly string[]
  /** A component can be set by its commanded features, if the object has a setter. */
  commanded: boolean
}

const read = (kind: FeatureKind, ...names: string[]): FeatureDescription => ({
  kind,
  names,
  commanded: false,
})
const set = (kind: FeatureKind, ...names: string[]): FeatureDescription => ({ kind, names, commanded: true })

/** What can be set to some words only; it is read as text. */
const words = (names: readonly string[], ...commands: string[]): FeatureDescription => ({
  ...{ kind: 'text', names, commanded: true, commands },
})

/** The features of each component; the first one is what an object has that knows no features. */
const componentFeatures = {
  sensor: { value: read('any', 'value', 'state') },
  binary_sensor: { state: read('boolean', 'state', 'value') },
  switch: { state: set('boolean', 'state', 'value', 'on') },
  number: { value: set('number', 'value', 'state') },
  select: { value: set('text', 'value', 'state', 'option') },
  text: { value: set('text', 'value', 'state', 'text') },
  button: { press: set('press', 'press') },
  light: {
    state: set('boolean', 'state', 'on'),
    brightness: set('number', 'brightness', 'level'),
    color_temp: set('number', 'color_temp'),
    kelvin: set('number', 'kelvin'),
    color: set('text', 'color', 'rgb'),
    xy: set('text', 'xy'),
    effect: set('text', 'effect'),
  },
  climate: {
    target_temperature: set(
      'number',
      'target_temperature',
      'setpoint',
      'target',
      'occupied_heating_setpoint',
      'current_heating_setpoint',
    ),
    current_temperature: read('number', 'current_temperature', 'local_temperature', 'temperature'),
    current_humidity: read('number', 'current_humidity', 'humidity'),
    mode: set('text', 'mode', 'system_mode'),
    action: read('text', 'action', 'running_state'),
    fan_mode: set('text', 'fan_mode'),
    preset_mode: set('text', 'preset_mode', 'preset'),
    swing_mode: set('text', 'swing_mode'),
    target_temperature_low: set('number', 'target_temperature_low'),
    target_temperature_high: set('number', 'target_temperature_high'),
  },
  cover: {
    state: set('cover', 'state'),
    position: set('number', 'position'),
    tilt: set('number', 'tilt'),
  },
  fan: {
    state: set('boolean', 'state', 'on'),
    speed: set('number', 'speed', 'percentage'),
    oscillation: set('boolean', 'oscillation'),
    preset_mode: set('text', 'preset_mode', 'mode'),
  },
  event: { event: read('event', 'event', 'state', 'value') },
  lock: { state: words(['state'], 'lock', 'unlock', 'open') },
  valve: { state: set('cover', 'state'), position: set('number', 'position') },
  alarm_control_panel: {
    state: words(
      ['state'],
      ...['disarm', 'arm_home', 'arm_away', 'arm_night', 'arm_vacation', 'arm_custom_bypass', 'trigger'],
    ),
  },
  vacuum: {
    state: read('text', 'state'),
    fan_speed: set('text', 'fan_speed'),
    // Only set, never read.
    command: words([], 'start', 'pause', 'stop', 'return_to_base', 'clean_spot', 'locate'),
  },
  siren: {
    state: set('siren', 'state', 'on'),
    tone: set('text', 'tone'),
    duration: set('number', 'duration'),
    volume: set('number', 'volume'),
  },
  humidifier: {
    state: set('boolean', 'state', 'on'),
    target_humidity: set('number', 'target_humidity'),
    current_humidity: read('number', 'current_humidity', 'humidity'),
    mode: set('text', 'mode'),
  },
  water_heater: {
    target_temperature: set('number', 'target_temperature', 'setpoint', 'target'),
    current_temperature: read('number', 'current_temperature', 'temperature'),
    mode: set('text', 'mode'),
  },
  lawn_mower: { activity: read('text', 'activity', 'state'), command: words([], 'start', 'pause', 'dock') },
  device_tracker: {
    latitude: read('number', 'latitude'),
    longitude: read('number', 'longitude'),
    gps_accuracy: read('number', 'gps_accuracy'),
    in_zones: read('list', 'in_zones'),
  },
  image: { url: read('text', 'url', 'value') },
  update: {
    installed_version: read('text', 'installed_version'),
    latest_version: read('text', 'latest_version'),
    install: { kind: 'press', names: [], commanded: true },
  },
  date: { value: set('text', 'value', 'state') },
  time: { value: set('text', 'value', 'state') },
  datetime: { value: set('text', 'value', 'state') },
  notify: { message: { kind: 'text', names: [], commanded: true } },
} as const satisfies Record<string, Record<string, FeatureDescription>>

/** Under which option the values of a feature are listed, besides `options`, which is of one of them. */
const optionOfFeature = {
  mode: 'modes',
  preset_mode: 'presets',
  fan_mode: 'fanModes',
  swing_mode: 'swingModes',
  effect: 'effects',
  tone: 'tones',
  fan_speed: 'fanSpeeds',
} as const
export type ChoiceName = (typeof optionOfFeature)[keyof typeof optionOfFeature]
export const choiceNames: readonly ChoiceName[] = Object.values(optionOfFeature)

/** The feature that `options` lists the values of. */
const featureOfOptions: Partial<Record<string, string>> = {
  select: 'value',
  climate: 'mode',
  light: 'effect',
  fan: 'preset_mode',
  siren: 'tone',
  vacuum: 'fan_speed',
  humidifier: 'mode',
  water_heater: 'mode',
  alarm_control_panel: 'state',
}

/** The values that a feature of an exposure can be set to, as far as the plugin has listed them. */
export function choicesOf(
  exposure: { component: string; options?: string[] } & Partial<Record<ChoiceName, string[]>>,
  feature: string,
): readonly string[] | undefined {
  const name = (optionOfFeature as Partial<Record<string, ChoiceName>>)[feature]
  const listed = name === undefined ? undefined : exposure[name]
  return listed ?? (featureOfOptions[exposure.component] === feature ? exposure.options : undefined)
}

/** The features whose values have a list of their own: what has the list has the feature, before it knows a value. */
export function listedFeatures(options: Partial<Record<ChoiceName, string[]>>): string[] {
  const entries = Object.entries(optionOfFeature)
  return entries.flatMap(([feature, name]) => (options[name] === undefined ? [] : [feature]))
}

export type ExposedComponent = keyof typeof componentFeatures
export const exposedComponents = Object.keys(componentFeatures) as readonly ExposedComponent[]

export function featuresOf(component: ExposedComponent): Readonly<Record<string, FeatureDescription>> {
  return componentFeatures[component]
}

interface Range {
  min?: number | undefined
  max?: number | undefined
  step?: number | undefined
}

/** What a feature that is a number is checked for, as far as anything is known of it, and its smallest change. */
export function rangeOf(
  { component, min, max, step }: Range & { component: string },
  feature: string,
): Range {
  if (component === 'cover' || component === 'valve' || component === 'humidifier')
    return { min: 0, max: 100 }
  if (component === 'siren') return feature === 'volume' ? { min: 0, max: 1 } : { min: 0 }
  if (component === 'fan') return { min: 0, max: max ?? 100 }
  if (feature === 'brightness') return { min: 0, max: max ?? 255 }
  return component === 'number' || feature.startsWith('target_temperature') ? { min, max, step } : {}
}
