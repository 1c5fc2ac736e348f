import type { Json } from '../base/json.ts'
import { Problem } from '../base/problem.ts'
import { parseJsonText } from '../schema/json-text.ts'

/** Values for controls, as they come from outside (plugin API, section 7). Pure functions. */

const booleanTypes: ReadonlySet<string> = new Set(['switch', 'boolean'])
const numberTypes: ReadonlySet<string> = new Set(['number', 'fan', 'dimmer'])
const textTypes: ReadonlySet<string> = new Set(['text', 'string', 'select'])
const words: ReadonlyMap<string, boolean> = new Map([
  ['on', true],
  ['true', true],
  ['1', true],
  ['off', false],
  ['false', false],
  ['0', false],
])
const decimal = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i

function numberOf(text: string): number | undefined {
  const trimmed = text.trim()
  const number = decimal.test(trimmed) ? Number(trimmed) : Number.NaN
  return Number.isFinite(number) ? number : undefined
}

/**
 * The value that a text means to a control of this type: JSON, or bare text. `1` is a number to most
 * controls, but on to a switch and a text to a text field; what is no JSON either is taken as a string.
 */
export function controlValueFromText(text: string, type: string | undefined): Json {
  const word = words.get(text.trim().toLowerCase())
  if (type !== undefined && booleanTypes.has(type) && word !== undefined) return word
  const number = numberOf(text)
  if (type !== undefined && numberTypes.has(type) && number !== undefined) return number
  const parsed = parseJsonText(Buffer.from(text))
  if (!parsed.ok) return text
  const value = parsed.value as Json
  return type !== undefined && textTypes.has(type) && typeof value !== 'string' ? text : value
}

/** Characters of a refused value that the answer repeats. */
const shownLength = 60

const rangePattern = /^(-?\d+(?:\.\d+)?)-(-?\d+(?:\.\d+)?)$/

/**
 * Throws `control_value_invalid` when a control with this range (`<min>-<max>`, as in its manifest) does not
 * take the value: a number outside, or a text that is none. `true`, `false` and objects are not measured.
 */
export function checkControlValue(range: string | undefined, value: Json): void {
  const [, least, most] = rangePattern.exec(range ?? '') ?? []
  if (least === undefined || most === undefined) return
  if (typeof value === 'boolean' || (typeof value === 'object' && value !== null)) return
  const number = typeof value === 'string' ? numberOf(value) : value
  if (typeof number === 'number' && number >= Number(least) && number <= Number(most)) return
  const message = `must be a number from ${least} to ${most}`
  throw new Problem('control_value_invalid', `The value ${message}, not ${shorten(value)}.`, {
    errors: [{ path: '/value', message }],
  })
}

function shorten(value: Json): string {
  const text = JSON.stringify(value)
  return text.length <= shownLength ? text : `${text.slice(0, shownLength)}…`
}
