import type { Json, JsonObject } from '../../../base/text/json.ts'
import { valueOverhead } from '../../../base/text/json-size.ts'
import { type ByteBudget, createByteBudget } from '../budgets/byte-budget.ts'
import { toBytes, toUnicode } from './text/bytes.ts'
import type { LuaRuntime, LuaTable, LuaValue } from './lua-value.ts'
import { numberText } from './text/number-text.ts'
import { pause, type Steps } from './steps.ts'

/** Tables within tables; deeper ones are a mistake, and would end in a stack overflow. */
export const deepest = 100
/**
 * Values in one copy. A table that occurs twice is copied twice, so forty of them within each other would be more
 * than any memory holds, in one go that nothing interrupts.
 */
const mostValues = 250_000

/**
 * Lengths of the arrays without values or with null that tables were made of: they stay arrays, though nothing in Lua says
 * so, as long as their last value is far.
 */
const arrayLengths = new WeakMap<LuaTable, number>()

/**
 * A copy as JSON: strings decoded as UTF-8, a table with keys 1 to n, or that was made from an array with null, as an
 * array, any other as an object.
 * Functions, NaN and infinities are left out, and `undefined` is what has no JSON at all. Throws `Error` for a
 * table that contains itself, and for one that is too deep or too large: `budget` counts as `approximateSize` does.
 * `leftOut` hears of each number that is left out, and of a function that is the whole value; those in tables are methods.
 */
export function toJson(
  value: LuaValue,
  budget: ByteBudget = createByteBudget(Number.POSITIVE_INFINITY),
  leftOut: (what: string) => void = nobody,
): Json | undefined {
  return jsonOf(value, [], { left: mostValues, budget, leftOut })
}

const nobody = (): void => undefined

/**
 * The same for what must come back as it was. Throws `Error` for what has no JSON, and for a number in a table that has
 * none; functions in tables are left out here, too, since nobody expects them back.
 */
export function toStoredJson(value: Exclude<LuaValue, undefined>, budget: ByteBudget): Json {
  const leftOut = (what: string): never => {
    throw new Error(withoutJson(what))
  }
  const json = jsonOf(value, [], { left: mostValues, budget, leftOut })
  if (json === undefined || json === null) throw new Error(withoutJson('a function'))
  return json
}

export const withoutJson = (what: string): string => `${what} has no JSON`

interface Copying {
  left: number
  budget: ByteBudget
  leftOut(what: string): void
}

function text(decoded: string, { budget }: Copying): string {
  budget.spend(decoded.length)
  return decoded
}

function jsonOf(value: LuaValue | string, parents: LuaTable[], copying: Copying): Json | undefined {
  if (typeof value === 'string') return text(value, copying)
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return value
    copying.leftOut(`the number ${numberText(value)}`)
    return undefined
  }
  if (value instanceof Uint8Array) return text(toUnicode(value), copying)
  if (typeof value !== 'object') return value
  if (value.kind === 'function') {
    if (parents.length === 0) copying.leftOut('a function')
    return undefined
  }
  if (parents.includes(value)) throw new Error('cycle: the table contains itself')
  if (parents.length >= deepest) throw new Error(`the table is nested more than ${deepest} levels deep`)
  parents.push(value)
  const entries = value.textEntries()
  const length = arrayLength(value, entries)
  const count = length ?? entries.length
  copying.left -= count
  if (copying.left < 0) throw new Error(`the table has more than ${mostValues} values`)
  copying.budget.spend(count * valueOverhead)
  const result =
    length === undefined ? objectOf(entries, parents, copying) : arrayOf(length, entries, parents, copying)
  parents.pop()
  return result
}

type Entries = [key: LuaValue | string, value: LuaValue | string][]

/** Undefined for what is no array. */
function arrayLength(table: LuaTable, entries: Entries): number | undefined {
  const before = arrayLengths.get(table)
  if (entries.length === 0) return before === undefined ? undefined : 0
  let length = 0
  // Of any other table: different whole numbers, none below 1 and none above their count, are exactly 1 to n.
  const most = (before ?? 0) + entries.length
  for (const [key] of entries) {
    if (typeof key !== 'number' || !Number.isInteger(key) || key < 1 || key > most) return undefined
    length = Math.max(length, key)
  }
  return length
}

function arrayOf(length: number, entries: Entries, parents: LuaTable[], copying: Copying): Json {
  const values: Json[] = new Array<Json>(length).fill(null)
  for (const [key, value] of entries) {
    // A place in an array cannot be left out.
    if (typeof key === 'number') values[key - 1] = jsonOf(value, parents, copying) ?? null
  }
  return values
}

function objectOf(entries: Entries, parents: LuaTable[], copying: Copying): JsonObject {
  const object: JsonObject = {}
  for (const [key, value] of entries) {
    const name = keyText(key, copying)
    const json = name === undefined ? undefined : jsonOf(value, parents, copying)
    if (name === undefined || json === undefined) continue
    // An assignment would set the prototype.
    if (name === '__proto__') {
      const own = { value: json, enumerable: true, writable: true, configurable: true }
      Object.defineProperty(object, name, own)
    } else object[name] = json
  }
  return object
}

function keyText(key: LuaValue | string, copying: Copying): string | undefined {
  if (typeof key === 'string') return text(key, copying)
  if (typeof key === 'number') return numberText(key)
  return typeof key === 'boolean' ? String(key) : undefined
}

/** A fresh Lua value. Null is nil, and so an absent key or a hole. Throws `Error` for what is too deep; `depth`: levels above it. */
export function fromJson(runtime: LuaRuntime, json: Json | undefined, depth = 0): LuaValue {
  if (json === undefined || json === null) return undefined
  if (typeof json === 'string') return toBytes(json)
  if (typeof json !== 'object') return json
  const table = tableOf(runtime, json, depth)
  if (Array.isArray(json)) {
    for (const [index, item] of json.entries()) table.set(index + 1, fromJson(runtime, item, depth + 1))
  } else {
    for (const [key, item] of Object.entries(json)) table.set(key, fromJson(runtime, item, depth + 1))
  }
  return table
}

function tableOf(runtime: LuaRuntime, json: Json[] | JsonObject, depth: number): LuaTable {
  if (depth >= deepest) throw new Error(`the value is nested more than ${deepest} levels deep`)
  const table = runtime.newTable()
  if (Array.isArray(json) && (json.length === 0 || json.includes(null))) arrayLengths.set(table, json.length)
  return table
}

/** Values that are made of JSON in about a millisecond. */
const valuesPerPause = 250

/** The same for what may be large: others have their turn meanwhile. `progress`: values since they had one. */
export function* fromJsonInSteps(
  runtime: LuaRuntime,
  json: Json | undefined,
  depth = 0,
  progress = { made: 0 },
): Steps<LuaValue> {
  if (typeof json !== 'object' || json === null) return fromJson(runtime, json, depth)
  const items = Array.isArray(json) ? json : Object.values(json)
  // Most have a few texts and numbers, which is no work for a generator.
  if (items.length < valuesPerPause && !items.some(isContainer)) {
    progress.made += items.length
    return fromJson(runtime, json, depth)
  }
  const table = tableOf(runtime, json, depth)
  const names = Array.isArray(json) ? undefined : Object.keys(json)
  for (const [index, item] of items.entries()) {
    progress.made += 1
    if (progress.made >= valuesPerPause) {
      progress.made = 0
      yield pause
    }
    const value = isContainer(item)
      ? yield* fromJsonInSteps(runtime, item, depth + 1, progress)
      : fromJson(runtime, item, depth + 1)
    table.set(names?.[index] ?? index + 1, value)
  }
  return table
}

const isContainer = (json: Json): boolean => typeof json === 'object' && json !== null
