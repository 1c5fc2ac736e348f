import type { Json } from '../../base/text/json.ts'

/** What a control takes (plugin API, section 7), for the host that is asked and the worker that does it. Pure. */

type Kind = 'boolean' | 'number' | 'text'

const kinds: ReadonlyMap<string, Kind> = new Map([
  ['switch', 'boolean'],
  ['boolean', 'boolean'],
  ['binary', 'boolean'],
  ['number', 'number'],
  ['fan', 'number'],
  ['dimmer', 'number'],
  ['range', 'number'],
  ['integer', 'number'],
  ['text', 'text'],
  ['string', 'text'],
  ['select', 'text'],
])

/** What controls of this type hold; undefined for types that are not known. */
export function controlKind(type: string | undefined): Kind | undefined {
  return type === undefined ? undefined : kinds.get(type)
}

const words: ReadonlyMap<string, boolean> = new Map([
  ['on', true],
  ['true', true],
  ['1', true],
  ['off', false],
  ['false', false],
  ['0', false],
])

/** `ON`, `off`, `true`, `0`, … */
export function switchWord(text: string): boolean | undefined {
  return words.get(text.trim().toLowerCase())
}

const decimal = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i

/** The number that a text is, in decimal. */
export function decimalNumber(text: string): number | undefined {
  const trimmed = text.trim()
  const number = decimal.test(trimmed) ? Number(trimmed) : Number.NaN
  return Number.isFinite(number) ? number : undefined
}

/** A declared range, `<min>-<max>`: the two numbers. */
export const rangePattern = /^(-?\d+(?:\.\d+)?)-(-?\d+(?:\.\d+)?)$/

/** Characters of a refused value that the answer repeats. */
const shownLength = 60

export type AcceptedValue =
  /** As the control's setter gets it. */
  | { ok: true; value: Json }
  /** `message` completes "The value …"; `shown`: see `shownValue`. */
  | { ok: false; message: string; shown: string }

/**
 * A value as a control of this declared type and range (`<min>-<max>`) takes it: words of a switch become
 * booleans, digits of a number become numbers. Types that are not known take everything as it is.
 */
export function controlValueFor(
  declared: { type?: string | undefined; range?: string | undefined },
  value: Json,
): AcceptedValue {
  const { type, range } = declared
  const typed = typedValue(controlKind(type), value)
  if (typed === undefined) {
    return { ok: false, message: `must be of the control's type, ${type}`, shown: shownValue(value) }
  }
  const [, least, most] = rangePattern.exec(range ?? '') ?? []
  if (least === undefined || most === undefined || isWithin(typed, Number(least), Number(most))) {
    return { ok: true, value: typed }
  }
  return { ok: false, message: `must be a number from ${least} to ${most}`, shown: shownValue(value) }
}

function typedValue(kind: Kind | undefined, value: Json): Json | undefined {
  if (kind === 'boolean') {
    if (typeof value === 'boolean') return value
    return typeof value === 'string' || typeof value === 'number' ? switchWord(String(value)) : undefined
  }
  if (kind === 'number') {
    if (typeof value === 'number') return value
    return typeof value === 'string' ? decimalNumber(value) : undefined
  }
  return value
}

/** `true`, `false` and objects are not measured. */
function isWithin(value: Json, least: number, most: number): boolean {
  if (typeof value === 'boolean' || (typeof value === 'object' && value !== null)) return true
  const number = typeof value === 'string' ? decimalNumber(value) : value
  return typeof number === 'number' && number >= least && number <= most
}

/** The beginning of a refused value, as JSON. */
export function shownValue(value: Json): string {
  const text = JSON.stringify(value)
  return text.length <= shownLength ? text : `${text.slice(0, shownLength)}…`
}
