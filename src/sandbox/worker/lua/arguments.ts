import type { DeliveryOptions } from '../../../schema/worker/message-frames.ts'
import type { LuaFunction, LuaTable, LuaValue } from './lua-value.ts'
import { toUnicode } from './text/bytes.ts'
import { numberText } from './text/number-text.ts'

/** Reading the arguments that Lua gives. What is wrong is thrown in the words Lua itself would use. */

export function typeName(value: LuaValue): string {
  if (value === undefined) return 'nil'
  if (value instanceof Uint8Array) return 'string'
  return typeof value === 'object' ? value.kind : typeof value
}

export function isTable(value: LuaValue): value is LuaTable {
  return typeof value === 'object' && !(value instanceof Uint8Array) && value.kind === 'table'
}

export function isFunction(value: LuaValue): value is LuaFunction {
  return typeof value === 'object' && !(value instanceof Uint8Array) && value.kind === 'function'
}

/** Text of a string or number; undefined for everything else. */
export function optionalText(value: LuaValue): string | undefined {
  if (value instanceof Uint8Array) return toUnicode(value)
  return typeof value === 'number' ? numberText(value) : undefined
}

function wrongArgument(method: string, position: number, expected: string, value: LuaValue): Error {
  const given = Number.isNaN(value) ? 'nan' : typeName(value)
  return new Error(`bad argument #${position} to '${method}' (${expected} expected, got ${given})`)
}

/** Characters of a name, path or topic; the host keeps thousands of them. */
export const nameLimit = 1_024

/** A string that is not empty and not too long, or a number as text. */
export function textArgument(
  method: string,
  position: number,
  value: LuaValue,
  longest: number = nameLimit,
): string {
  const text = optionalText(value)
  if (text === undefined) throw wrongArgument(method, position, 'string', value)
  if (text === '') throw new Error(`bad argument #${position} to '${method}' (the string is empty)`)
  if (text.length > longest) {
    throw new Error(
      `bad argument #${position} to '${method}' (the string has more than ${longest} characters)`,
    )
  }
  return text
}

export function functionArgument(method: string, position: number, value: LuaValue): LuaFunction {
  if (!isFunction(value)) throw wrongArgument(method, position, 'function', value)
  return value
}

export function optionalFunction(method: string, position: number, value: LuaValue): LuaFunction | undefined {
  return value === undefined ? undefined : functionArgument(method, position, value)
}

export function tableArgument(method: string, position: number, value: LuaValue): LuaTable {
  if (!isTable(value)) throw wrongArgument(method, position, 'table', value)
  return value
}

// One way to match each text: with two ways for its digits, a long one would take minutes.
const decimal = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?\s*$/i
const hexadecimal = /^\s*[+-]?0x[0-9a-f]+\s*$/i

/** A number, or the number that a string writes; undefined for everything else, NaN too. */
export function optionalNumber(value: LuaValue): number | undefined {
  if (typeof value === 'number') return Number.isNaN(value) ? undefined : value
  if (!(value instanceof Uint8Array)) return undefined
  const text = toUnicode(value)
  if (decimal.test(text)) return Number(text)
  if (!hexadecimal.test(text)) return undefined
  const digits = text.trim()
  return digits.startsWith('-') ? -Number(digits.slice(1)) : Number(digits.replace('+', ''))
}

export function numberArgument(method: string, position: number, value: LuaValue): number {
  const number = optionalNumber(value)
  if (number === undefined) throw wrongArgument(method, position, 'number', value)
  return number
}

/** What Lua takes for true: everything but nil and false. */
export function isTruthy(value: LuaValue): boolean {
  return value !== undefined && value !== false
}

/** The arguments of a function of `table` that is called with a colon or with a dot: both are seen. */
export function withoutSelf(table: LuaTable, args: readonly LuaValue[]): readonly LuaValue[] {
  const [first] = args
  return first === table ? args.slice(1) : args
}

/** A member of an options table; undefined without a table. */
export function option(options: LuaValue, name: string): LuaValue {
  return isTable(options) ? options.get(name) : undefined
}

/** `{ qos, retain }` of an options table; what makes no sense is the default. */
export function deliveryOptions(options: LuaValue): DeliveryOptions {
  const qos = optionalNumber(option(options, 'qos'))
  return { qos: qos === 1 || qos === 2 ? qos : 0, retain: isTruthy(option(options, 'retain')) }
}

/** The elements of an array, in order, the first `most` of them; of anything else itself. */
export function listOf(value: LuaValue, most = Number.POSITIVE_INFINITY): LuaValue[] {
  if (!isTable(value)) return [value]
  return Array.from({ length: Math.min(value.length, most) }, (_, index) => value.get(index + 1))
}
