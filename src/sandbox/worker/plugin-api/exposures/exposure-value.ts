import { isJsonObject, type Json, type JsonObject, jsonText } from '../../../../base/text/json.ts'
import { booleanWord } from '../coercion.ts'
import type { FeatureKind } from '../../../../schema/plugin/exposure.ts'

/** What objects give, as the features of their exposure have it. Pure functions; null: nobody knows. */

/** Characters of a state that Home Assistant keeps. */
const stateTextLimit = 255

const coverStates: ReadonlyMap<string, string> = new Map([
  ['open', 'open'],
  ['opened', 'open'],
  ['opening', 'opening'],
  ['close', 'closed'],
  ['closed', 'closed'],
  ['closing', 'closing'],
  ['stop', 'stopped'],
  ['stopped', 'stopped'],
])

/** On or off; null for what is neither. */
export function toBoolean(value: Json): boolean | null {
  if (typeof value === 'boolean') return value
  if (typeof value === 'number') return value !== 0
  return typeof value === 'string' ? (booleanWord(value) ?? null) : null
}

function toNumber(value: Json): number | null {
  if (typeof value === 'number') return value
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN
  return Number.isFinite(number) ? number : null
}

function toText(value: Json): string | null {
  if (value === null) return null
  const text = typeof value === 'string' ? value : typeof value === 'object' ? colour(value) : jsonText(value)
  return text.slice(0, stateTextLimit)
}

/** A colour as `r,g,b` when it is one, else JSON. */
function colour(value: Json[] | JsonObject): string {
  const parts = Array.isArray(value) ? value : [value.r, value.g, value.b]
  const isColour = parts.length === 3 && parts.every((part) => typeof part === 'number')
  return isColour ? parts.join(',') : JSON.stringify(value)
}

function toCoverState(value: Json): string | null {
  if (typeof value === 'boolean') return value ? 'open' : 'closed'
  return typeof value === 'string' ? (coverStates.get(value.trim().toLowerCase()) ?? null) : null
}

function toScalar(value: Json): Json {
  return typeof value === 'object' || typeof value === 'string' ? toText(value) : value
}

/** The value of a feature of this kind. */
export function toFeatureValue(kind: FeatureKind, value: Json): Json {
  switch (kind) {
    case 'boolean':
    case 'siren':
      return toBoolean(value)
    case 'list':
      return Array.isArray(value) ? value : null
    case 'number':
      return toNumber(value)
    case 'text':
      return toText(value)
    case 'cover':
      return toCoverState(value)
    case 'event':
      return toEvent(value)
    default:
      return toScalar(value)
  }
}

/** `{event_type, …}` of what an event gives: a name, or a table with a name and more; null when it has none. */
export function toEvent(value: Json): JsonObject | null {
  if (!isJsonObject(value)) {
    const type = Array.isArray(value) ? null : toText(value)
    return type === null || type === '' ? null : { event_type: type }
  }
  const { event_type, type, event, ...rest } = value
  const name = toText(event_type ?? type ?? event ?? null)
  return name === null || name === '' ? null : { event_type: name, ...rest }
}

/** Whether a sensor that gives this is on or off, rather than a quantity. */
export function isBinary(value: Json, measured: boolean): boolean {
  return typeof value === 'boolean' || (!measured && (value === 0 || value === 1))
}
