import type { JsonObject } from '../base/text/json.ts'
import { choicesOf, type Exposure } from '../schema/plugin/exposure.ts'

/** The fields by which Home Assistant finds the value of a feature, and sets it. */

export interface ComponentTopics {
  state: string
  command(feature: string): string
}

export type Fields = JsonObject
export type FieldsOf = (exposure: Exposure, topics: ComponentTopics) => Fields

/** A state topic is emptied while its plugin is reloaded: then there is no JSON, and nothing is known. */
export const template = {
  value: (feature: string) => `{{ value_json.${feature} if value_json is defined else None }}`,
  /** What is a time to Home Assistant is text; here it may be the seconds since 1970 that `os.time()` gives. */
  time: (feature: string) =>
    `{{ (value_json.${feature} | timestamp_custom('%Y-%m-%dT%H:%M:%SZ', false) if value_json.${feature} is number else value_json.${feature}) if value_json is defined else None }}`,
  /** For fields that have no way to say that something is not known: nothing is rendered, which is ignored. */
  known: (feature: string) =>
    `{{ value_json.${feature} if value_json is defined and value_json.${feature} is not none else '' }}`,
  /** The same for fields of which it reads nothing but whole numbers. */
  whole: (feature: string) =>
    `{{ value_json.${feature} | round | int if value_json is defined and value_json.${feature} is not none else '' }}`,
  onOff: (feature: string) =>
    `{{ ('ON' if value_json.${feature} else 'OFF') if value_json is defined and value_json.${feature} is boolean else None }}`,
}

/** Only the members that have a value. */
export function fields(all: Record<string, JsonObject[string] | undefined>): Fields {
  const present: Fields = {}
  for (const [name, value] of Object.entries(all)) if (value !== undefined) present[name] = value
  return present
}

/** Names of a feature's fields; without a command it can only be read. */
export type FieldNames = readonly [commandTopic: string | null, stateTopic: string, valueTemplate: string]

/** The fields of a feature, if the object has it: its topics and the template that finds its value. */
export function feature(
  { features, writable }: Exposure,
  topics: ComponentTopics,
  name: string,
  [commandTopic, stateTopic, valueTemplate]: FieldNames,
  render: (feature: string) => string = template.known,
): Fields {
  return {
    ...(commandTopic !== null && writable.includes(name) ? { [commandTopic]: topics.command(name) } : {}),
    ...(features.includes(name) ? { [stateTopic]: topics.state, [valueTemplate]: render(name) } : {}),
  }
}

export const simple = ['command_topic', 'state_topic', 'value_template'] as const
/** Of a component that can be switched, and more. */
export const onOffOfMany = ['command_topic', 'state_topic', 'state_value_template'] as const
export const named = (name: string): FieldNames => [
  `${name}_command_topic`,
  `${name}_state_topic`,
  `${name}_value_template`,
]
/** Of what Home Assistant calls the template otherwise. */
export const namedByState = (name: string): FieldNames => [
  `${name}_command_topic`,
  `${name}_state_topic`,
  `${name}_state_template`,
]
/** Of what can only be read. */
export const readOnly = (name: string): FieldNames => [null, `${name}_topic`, `${name}_template`]

/** `min` and `max` when they are a range at all. */
export function range(min: number | undefined, max: number | undefined): Fields {
  if (min !== undefined && max !== undefined && min >= max) return {}
  return fields({ min, max })
}

export const choices = (exposure: Exposure, name: string): string[] | undefined => {
  const found = choicesOf(exposure, name)
  return found && [...found]
}
