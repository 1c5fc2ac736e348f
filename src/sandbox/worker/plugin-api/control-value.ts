import type { Json } from '../../../base/json.ts'

const switchWords: Readonly<Record<string, boolean>> = {
  on: true,
  true: true,
  '1': true,
  off: false,
  false: false,
  '0': false,
}
const booleanTypes = new Set(['switch', 'boolean', 'binary'])
const numberTypes = new Set(['number', 'fan', 'dimmer', 'range', 'integer'])

/**
 * A value as a control of this declared type takes it: words of a switch become booleans, digits of a number
 * become numbers. Undefined when it makes no sense; types that are not known take everything as it is.
 */
export function convertControlValue(type: string, value: Json): Json | undefined {
  if (booleanTypes.has(type)) {
    if (typeof value === 'boolean') return value
    return typeof value === 'string' || typeof value === 'number'
      ? switchWords[String(value).trim().toLowerCase()]
      : undefined
  }
  if (numberTypes.has(type)) {
    if (typeof value === 'number') return value
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN
    return Number.isFinite(number) ? number : undefined
  }
  return value
}
