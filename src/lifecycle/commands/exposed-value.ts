import { quoted } from '../../base/text/cut-text.ts'
import { isJsonObject, type Json, type JsonObject, jsonText } from '../../base/text/json.ts'
import { Problem } from '../../base/problem.ts'
import { decimalNumber, shownValue, switchWord } from '../../schema/plugin/control-value.ts'
import {
  choicesOf,
  type Exposure,
  type FeatureKind,
  featuresOf,
  rangeOf,
} from '../../schema/plugin/exposure.ts'

/** Values for what plugins expose, as they come from outside. Pure functions. */

const coverCommands: ReadonlyMap<string, string> = new Map([
  ['open', 'open'],
  ['close', 'close'],
  ['closed', 'close'],
  ['stop', 'stop'],
])

/** The value as the plugin gets it. Throws `control_unknown`, `control_value_invalid`. */
export function checkExposedValue(exposure: Exposure, feature: string, value: Json): Json {
  const kind = featuresOf(exposure.component)[feature]?.kind
  if (kind === undefined || !exposure.writable.includes(feature)) {
    const known =
      exposure.writable.length === 0 ? 'nothing of it can' : `only ${exposure.writable.join(', ')} can`
    throw new Problem('control_unknown', `${exposure.name}: ${quoted(feature)} cannot be set; ${known}.`)
  }
  return typed(kind, exposure, feature, value)
}

/** A value for the control behind an exposure; what the exposure knows nothing about stays as it is. */
export function checkExposedControl(exposure: Exposure, value: Json): Json {
  const [only, ...others] = exposure.writable
  if (exposure.component === 'fan' && typeof value === 'number')
    return typed('number', exposure, 'speed', value)
  return only === undefined || others.length > 0 ? value : checkExposedValue(exposure, only, value)
}

function typed(kind: FeatureKind, exposure: Exposure, feature: string, value: Json): Json {
  const text = typeof value === 'string' ? value.trim() : jsonText(value)
  const { commands } = featuresOf(exposure.component)[feature] ?? {}
  if (commands !== undefined)
    return (
      commands.find((word) => word === text.toLowerCase()) ??
      refuse(value, `must be one of ${commands.join(', ')}`)
    )
  switch (kind) {
    case 'boolean': {
      const on = typeof value === 'boolean' ? value : switchWord(text)
      return on ?? refuse(value, 'must be ON or OFF, or true or false')
    }
    case 'number':
      return checkNumber(exposure, feature, typeof value === 'number' ? value : decimalNumber(text), value)
    case 'cover':
      return coverCommands.get(text.toLowerCase()) ?? refuse(value, 'must be OPEN, CLOSE or STOP')
    case 'siren':
      return checkSiren(exposure, value, text)
    case 'press':
      return true
    default:
      if (typeof value === 'object') return refuse(value, 'must be text')
      return checkText(exposure, feature, typeof value === 'string' ? value : text, value)
  }
}

/** On or off, or an object with `state` and how it sounds, as Home Assistant sends it. */
function checkSiren(exposure: Exposure, value: Json, text: string): Json {
  if (!isJsonObject(value)) return switchWord(text) ?? refuse(value, 'must be ON or OFF, or true or false')
  const taken: JsonObject = {}
  for (const [name, feature] of [
    ['tone', 'tone'],
    ['duration', 'duration'],
    ['volume_level', 'volume'],
  ] as const) {
    const given = value[name]
    if (given !== undefined && given !== null && exposure.writable.includes(feature))
      taken[feature] = checkExposedValue(exposure, feature, given)
  }
  const { state } = value
  const on = typeof state === 'string' ? switchWord(state) : typeof state === 'boolean' ? state : undefined
  return { ...taken, state: on ?? refuse(value, 'must say whether state is ON or OFF') }
}

function checkNumber(exposure: Exposure, feature: string, number: number | undefined, value: Json): number {
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = rangeOf(exposure, feature)
  if (number === undefined || !Number.isFinite(number)) return refuse(value, 'must be a number')
  if (number < min) return refuse(value, `must be at least ${min}`)
  if (number > max) return refuse(value, `must be at most ${max}`)
  return number
}

function checkText(exposure: Exposure, feature: string, text: string, value: Json): string {
  const { component, min, max } = exposure
  // What a light or a fan can do beyond its list is for the plugin to know.
  const listed = component === 'light' || component === 'fan' ? undefined : choicesOf(exposure, feature)
  // Home Assistant offers it with every climate that has presets: none of them is to hold.
  const more = component === 'climate' && feature === 'preset_mode' ? ['none'] : []
  const choices = listed && new Set([...listed, ...more])
  if (choices?.has(text) === false) return refuse(value, `must be one of ${[...choices].join(', ')}`)
  if (component === 'text' && ((min ?? 0) > text.length || text.length > (max ?? Number.POSITIVE_INFINITY)))
    return refuse(value, `must have ${min ?? 0} to ${max ?? 'any number of'} characters`)
  return text
}

/** `message` completes "The value …". */
export function refuse(value: Json, message: string): never {
  throw new Problem('control_value_invalid', `The value ${message}, not ${shownValue(value)}.`, {
    errors: [{ path: '/value', message }],
  })
}
