import { quoted } from '../../../base/text/cut-text.ts'
import { stateClasses } from '../../../schema/plugin/exposed-components.ts'
import type { LuaTable, LuaValue } from '../lua/lua-value.ts'
import {
  isFunction,
  isTable,
  isTruthy,
  listOf,
  optionalNumber,
  optionalText,
  typeName,
} from '../lua/arguments.ts'

/** What options have to be that are left out, not refused, when they are something else. Pure. */

const isNumber = (value: LuaValue): boolean => optionalNumber(value) !== undefined
const isDuration = (value: LuaValue): boolean => (optionalNumber(value) ?? -1) >= 0
const isPositive = (value: LuaValue): boolean => (optionalNumber(value) ?? 0) > 0
const isText = (value: LuaValue): boolean => optionalText(value) !== undefined
const jsonModes = ['success', 'always', 'never']
const falseWords = ['', '0', 'false', 'no', 'off']

interface Kind {
  fits(value: LuaValue, options: LuaTable): boolean
  must: string
  counts?: string
  /** It is not the value that is wrong. */
  lacks?: true
}

const kinds = {
  number: { fits: isNumber, must: 'must be a number' },
  duration: { fits: isDuration, must: 'must be a number of milliseconds from 0' },
  positive: { fits: isPositive, must: 'must be a number of milliseconds above 0' },
  step: { fits: isPositive, must: 'must be a number above 0' },
  text: { fits: isText, must: 'must be a string' },
  texts: {
    fits: (value: LuaValue) => isTable(value) && listOf(value).every(isText),
    must: 'must be a list of strings',
  },
  function: { fits: isFunction, must: 'must be a function' },
  retry: { fits: isRetry, must: 'must be a table such as { maxAttempts = 3, backoff = 1000 }' },
  qos: {
    fits: (value: LuaValue) => [0, 1, 2].includes(optionalNumber(value) ?? -1),
    must: 'must be 0, 1 or 2',
  },
  jsonMode: {
    fits: (value: LuaValue) => typeof value === 'boolean' || jsonModes.includes(optionalText(value) ?? ''),
    must: 'must be "success", "always" or "never"',
  },
  stateClass: {
    fits: (value: LuaValue) => stateClasses.includes(optionalText(value) ?? ''),
    must: 'must be "measurement", "total", "total_increasing" or "measurement_angle"',
  },
  flag: {
    fits: isFlag,
    must: 'must be true or false',
    counts: 'true',
  },
  // Those that are of use only with others.
  coalesce: {
    fits: (value: LuaValue, options: LuaTable) =>
      !isTruthy(value) ||
      (isText(options.get('key')) && (typeof value === 'number' || isNumber(options.get('throttle')))),
    must: 'needs key, the name of a field, and throttle',
    lacks: true,
  },
  maximum: {
    fits: (value: LuaValue, options: LuaTable) =>
      (optionalNumber(value) ?? Number.NaN) >
      (optionalNumber(options.get('min')) ?? Number.NEGATIVE_INFINITY),
    must: 'must be a number above min',
  },
} satisfies Record<string, Kind>

export type OptionKind = keyof typeof kinds

export function isOptionKind(name: string): name is OptionKind {
  return Object.hasOwn(kinds, name)
}

export function fitsOption(kind: OptionKind | undefined, name: string, options: LuaTable): boolean {
  if (kind === undefined) return true
  const value = options.get(name)
  // `interval = isOn and 1000` leaves it out on purpose.
  return value === undefined || value === false || kinds[kind].fits(value, options)
}

/** What is wrong with a value that does not fit, and what is done about it. */
export function optionError(kind: OptionKind, value: LuaValue): string {
  const { must, counts, lacks }: Kind = kinds[kind]
  const text = typeof value === 'number' ? String(value) : quoted(optionalText(value) ?? '')
  const told = isText(value) ? text : `a ${typeName(value)}`
  const consequence = counts === undefined ? 'it is ignored' : `it counts as ${counts}`
  // It is a table, but not such a one.
  const isClear = lacks === true || (kind === 'retry' && isTable(value))
  return `${must}${isClear ? '' : `, not ${told}`}: ${consequence}`
}

/** Not what people write for false, which Lua takes for true. */
export function isFlag(value: LuaValue): boolean {
  return !falseWords.includes(optionalText(value)?.toLowerCase() ?? 'true')
}

function isRetry(value: LuaValue): boolean {
  if (!isTable(value)) return false
  const attempts = value.get('maxAttempts') ?? value.get('attempts') ?? 1
  return (optionalNumber(attempts) ?? 0) >= 1 && isDuration(value.get('backoff') ?? 0)
}
