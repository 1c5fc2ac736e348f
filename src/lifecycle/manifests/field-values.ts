import { isDeepStrictEqual } from 'node:util'
import { isJsonObject, type JsonObject, mapMembers } from '../../base/text/json.ts'
import type { Field } from '../../schema/manifest/field.ts'
import type { FieldType } from '../../schema/manifest/field-definition.ts'
import { parseJsonText } from '../../schema/parsing/json-text.ts'

/** Single values and the types of their fields. Pure. */

type Kind = 'string' | 'number' | 'boolean' | 'list' | 'object'

/** What of a field says which values it takes. */
export type ValueRules = Pick<Field, 'type' | 'items' | 'fields' | 'enum'>

/** What a value of a field is to Lua; null: any of its choices. */
export function kindOf(type: FieldType | null): Kind | null {
  if (type === 'text' || type === 'password') return 'string'
  if (type === 'integer') return 'number'
  return type === 'select' ? null : type
}

export function isOfType(value: unknown, type: FieldType | null): boolean {
  if (type === 'integer') return Number.isInteger(value)
  const kind = kindOf(type)
  if (kind === 'number') return Number.isFinite(value)
  if (kind === 'list') return Array.isArray(value)
  return kind === 'object' ? isJsonObject(value) : kind === null || typeof value === kind
}

/** Completes "must be". */
export function typeWords(type: FieldType | null): string {
  if (type === 'integer') return 'a whole number'
  const kind = kindOf(type)
  return kind === 'object' ? 'an object' : `a ${kind ?? 'value'}`
}

/** The value in the type of its field, if it says one: text becomes a number, a boolean, a list, and back. */
export function converted(value: unknown, rules: ValueRules): unknown {
  const { type } = rules
  const kind = kindOf(type)
  if (kind === null) return value
  if (kind === 'list' || kind === 'object') return convertedBelow(value, rules)
  if (isOfType(value, type)) return value
  if (kind === 'string')
    return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
  if (typeof value !== 'string') return undefined
  const text = value.trim()
  if (kind === 'number') {
    const number = Number(text)
    return text !== '' && isOfType(number, type) ? number : undefined
  }
  if (/^(true|1|yes|on)$/i.test(text)) return true
  return /^(false|0|no|off)$/i.test(text) ? false : undefined
}

/** The same for lists and objects, which a text holds as JSON; what is no value of a column stays as it is. */
function convertedBelow(given: unknown, { type, items, fields }: ValueRules): unknown {
  const parsed = typeof given === 'string' ? parseJsonText(new TextEncoder().encode(given)) : undefined
  const value = parsed?.ok === true ? parsed.value : given
  if (!isOfType(value, type)) return undefined
  const members = (row: JsonObject): JsonObject =>
    mapMembers(row, (member, key) => {
      const field = fields?.find((candidate) => candidate.key === key)
      return field === undefined ? member : ((converted(member, field) ?? member) as typeof member)
    })
  if (!Array.isArray(value)) return members(value as JsonObject)
  return value.map((item: unknown) => {
    if (items !== null) return converted(item, items) ?? item
    return isJsonObject(item) ? members(item) : item
  })
}

/** A default that cannot be brought to the field's type is none. */
export function defaultOf(value: unknown, rules: ValueRules): unknown {
  if (value === undefined || value === null) return null
  if (kindOf(rules.type) !== null) return converted(value, rules) ?? null
  return rules.enum?.find((choice) => typeof value === 'string' && String(choice) === value) ?? value
}

/** Rests of sentences about a single `value`. The author's own default is always accepted. */
export function violations(field: Field, value: unknown): string[] {
  const { type, min, max } = field
  if (field.default !== null && isDeepStrictEqual(value, field.default)) return []
  if (!isOfType(value, type)) return [`must be ${typeWords(type)}`]
  const messages: string[] = []
  if (typeof value === 'number') {
    if (min !== null && value < min) messages.push(`must be at least ${min}`)
    if (max !== null && value > max) messages.push(`must be at most ${max}`)
  }
  if (field.enum !== null && !field.enum.some((choice) => isDeepStrictEqual(choice, value))) {
    messages.push(`must be one of ${field.enum.map((choice) => JSON.stringify(choice)).join(', ')}`)
  }
  return messages
}
