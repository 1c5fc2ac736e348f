import Type, { type Static } from 'typebox'
import type { Json } from '../base/json.ts'

/** What a plugin shows with `expose()` (plugin API, section 10), resolved to a component of Home Assistant's. */

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

const Component = Type.Unsafe<ExposedComponent>(
  Type.Union(exposedComponents.map((component) => Type.Literal(component))),
)
const OptionalText = Type.Optional(Type.String())
const OptionalNumber = Type.Optional(Type.Number())

/** One thing that a plugin exposes, without its values. */
export const Exposure = Type.Object({
  component: Component,
  /** The type as the plugin gave it. */
  type: Type.String(),
  name: Type.String(),
  /** Features that the object has, of those of the component. */
  features: Type.Array(Type.String()),
  /** Those of them that can be set. */
  writable: Type.Array(Type.String()),
  /** Id of the plugin's own control that is exposed, if it is one. */
  control: OptionalText,
  area: OptionalText,
  unit: OptionalText,
  min: OptionalNumber,
  max: OptionalNumber,
  step: OptionalNumber,
  icon: OptionalText,
  deviceClass: OptionalText,
  stateClass: OptionalText,
  /** Values of a select, modes of a climate, effects of a light, presets of a fan, types of an event. */
  options: Type.Optional(Type.Array(Type.String())),
})
export type Exposure = Static<typeof Exposure>

/** A value by feature; null is one that nobody knows at present. */
export const ExposedState = Type.Record(Type.String(), Type.Unsafe<Json>(Type.Unknown()))
export type ExposedState = Static<typeof ExposedState>
