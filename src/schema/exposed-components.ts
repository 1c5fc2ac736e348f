/** What can be exposed, and by which features. Without schemas, so that the pages can use it too. */

/** What Home Assistant takes in the id of a device. */
export const deviceIdPattern = '^[A-Za-z0-9_-]+$'

/** How a feature's value is read and written. */
export type FeatureKind = 'boolean' | 'number' | 'text' | 'cover' | 'any' | 'press' | 'event'

export interface FeatureDescription {
  kind: FeatureKind
  /** Names under which an object may know the feature; the first that answers counts. */
  names: readonly string[]
  /** A component can be set by its commanded features, if the object has a setter. */
  commanded: boolean
}

const read = (kind: FeatureKind, ...names: string[]): FeatureDescription => ({
  kind,
  names,
  commanded: false,
})
const set = (kind: FeatureKind, ...names: string[]): FeatureDescription => ({ kind, names, commanded: true })

/** The features of each component; the first one is what an object has that knows no features. */
export const componentFeatures = {
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
    color: set('text', 'color', 'rgb'),
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
} as const satisfies Record<string, Record<string, FeatureDescription>>

export type ExposedComponent = keyof typeof componentFeatures
export const exposedComponents = Object.keys(componentFeatures) as readonly ExposedComponent[]

export function featuresOf(component: ExposedComponent): Readonly<Record<string, FeatureDescription>> {
  return componentFeatures[component]
}
