import Type, { type Static } from 'typebox'
import { isJsonObject, type Json } from '../../base/text/json.ts'
import type { SerializedJson } from '../../base/text/serialized-json.ts'
import { deviceIdPattern, exposedComponents } from './exposed-components.ts'
import { Text, textLimits } from '../parsing/text.ts'
import { oneOf } from '../parsing/one-of.ts'

export * from './exposed-components.ts'

/** What a plugin shows with `expose()` (plugin API, section 10), resolved to a component of Home Assistant's. */

const Component = oneOf(exposedComponents)
/** Features of one thing; more than any component has. */
const featuresLimit = 64
const Label = Text(textLimits.label)
const OptionalText = Type.Optional(Label)
const OptionalNumber = Type.Optional(Type.Number())

/** A device that a plugin bridges; what one exposure does not say of it another may. */
export const ExposedDevice = Type.Object({
  id: Type.String({ pattern: deviceIdPattern, maxLength: textLimits.label }),
  name: OptionalText,
  model: OptionalText,
  manufacturer: OptionalText,
  serial: OptionalText,
  version: OptionalText,
  area: OptionalText,
  /** Id of another device of this plugin, or an identifier that Home Assistant knows. */
  via: OptionalText,
})
export type ExposedDevice = Static<typeof ExposedDevice>

const Choices = Type.Optional(Type.Array(Label))

/** One thing that a plugin exposes, without its values. */
export const Exposure = Type.Object({
  component: Component,
  /** The type as the plugin gave it. */
  type: Label,
  name: Text(textLimits.name),
  /** Features that the object has, of those of the component. */
  features: Type.Array(Label, { maxItems: featuresLimit }),
  /** Those of them that can be set. */
  writable: Type.Array(Label, { maxItems: featuresLimit }),
  /** Id of the plugin's own control that is exposed, if it is one. */
  control: Type.Optional(Text(textLimits.name)),
  device: Type.Optional(ExposedDevice),
  /** It says itself whether it is available, in its values. */
  tellsAvailability: Type.Optional(Type.Boolean()),
  area: OptionalText,
  unit: OptionalText,
  min: OptionalNumber,
  max: OptionalNumber,
  step: OptionalNumber,
  icon: OptionalText,
  deviceClass: OptionalText,
  stateClass: OptionalText,
  /** Values of a select, modes of a climate, effects of a light, presets of a fan, types of an event. */
  options: Choices,
  modes: Choices,
  presets: Choices,
  fanModes: Choices,
  swingModes: Choices,
  effects: Choices,
  tones: Choices,
  fanSpeeds: Choices,
})
export type Exposure = Static<typeof Exposure>

/** A value by feature; null is one that nobody knows at present. */
export const ExposedState = Type.Record(Type.String(), Type.Unsafe<Json>(Type.Unknown()))
export type ExposedState = Static<typeof ExposedState>

/** The values as a worker has sent them; none where it has sent something else. */
export function exposedState(state: SerializedJson): ExposedState {
  const value = state.value()
  return isJsonObject(value) ? value : {}
}
