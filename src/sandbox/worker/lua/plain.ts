import type { Json, JsonObject } from '../../../base/json.ts'
import { valueOverhead } from '../../../base/json-size.ts'
import { type ByteBudget, createByteBudget } from '../byte-budget.ts'
import { toBytes, toUnicode } from './bytes.ts'
import type { LuaRuntime, LuaTable, LuaValue } from './lua-value.ts'
import { numberText } from './number-text.ts'

/** Tables within tables; deeper ones are a mistake, and would end in a stack overflow. */
export const deepest = 100
/**
 * Values in one copy. A table that occurs twice is copied twice, so forty of them within each other would be more
 * than any memory holds, in one go that nothing interrupts.
 */
const mostValues = 250_000

/** Tables that were made from `[]`: they stay arrays while they are empty. */
const emptyArrays = new WeakSet<LuaTable>()

/**
 * A copy as JSON: strings decoded as UTF-8, a table with keys 1 to n as an array, any other as an object.
 * Functions, NaN and infinities are left out, and `undefined` is what has no JSON at all. Throws `Error` for a
 * table that contains itself, and for one that is too deep or too large: `budget` counts as `approximateSize` does.
 */
export function toPlain(
  value: LuaValue,
  budget: ByteBudget = createByteBudget(Number.POSITIVE_INFINITY),
): Json | undefined {
  return plain(value, [], { left: mostValues, budget })
}

interface Room {
  left: number
  budget: ByteBudget
}

function text(bytes: Uint8Array, { budget }: Room): string {
  const decoded = toUnicode(bytes)
  budget.spend(decoded.length)
  return decoded
}

function plain(value: LuaValue, parents: LuaTable[], room: Room): Json | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  if (value instanceof Uint8Array) return text(value, room)
  if (typeof value !== 'object') return value
  if (value.kind === 'function') return undefined
  if (parents.includes(value)) throw new Error('cycle: the table contains itself')
  if (parents.length >= deepest) throw new Error(`the table is nested more than ${deepest} levels deep`)
  parents.push(value)
  const entries = value.entries()
  room.left -= entries.length
  if (room.left < 0) throw new Error(`the table has more than ${mostValues} values`)
  room.budget.spend(entries.length * valueOverhead)
  const result = isArray(value, entries)
    ? plainArray(entries, parents, room)
    : plainObject(entries, parents, room)
  parents.pop()
  return result
}

type Entries = [key: LuaValue, value: LuaValue][]

function isArray(table: LuaTable, entries: Entries): boolean {
  if (entries.length === 0) return emptyArrays.has(table)
  // Different whole numbers, none below 1 and none above their count, are exactly 1 to n.
  return entries.every(
    ([key]) => typeof key === 'number' && Number.isInteger(key) && key >= 1 && key <= entries.length,
  )
}

function plainArray(entries: Entries, parents: LuaTable[], room: Room): Json {
  const values: Json[] = new Array<Json>(entries.length).fill(null)
  for (const [key, value] of entries) {
    // A place in an array cannot be left out.
    if (typeof key === 'number') values[key - 1] = plain(value, parents, room) ?? null
  }
  return values
}

function plainObject(entries: Entries, parents: LuaTable[], room: Room): JsonObject {
  const object: JsonObject = {}
  for (const [key, value] of entries) {
    const name = keyText(key, room)
    const json = name === undefined ? undefined : plain(value, parents, room)
    if (name === undefined || json === undefined) continue
    // Not an assignment, which would set the prototype for `__proto__`.
    Object.defineProperty(object, name, { value: json, enumerable: true, writable: true, configurable: true })
  }
  return object
}

function keyText(key: LuaValue, room: Room): string | undefined {
  if (key instanceof Uint8Array) return text(key, room)
  if (typeof key === 'number') return numberText(key)
  return typeof key === 'boolean' ? String(key) : undefined
}

/** A fresh Lua value. Null is nil, and so an absent key. Throws `Error` for what is too deep. */
export function fromPlain(runtime: LuaRuntime, json: Json | undefined): LuaValue {
  return fromJson(runtime, json, 0)
}

function fromJson(runtime: LuaRuntime, json: Json | undefined, depth: number): LuaValue {
  if (json === undefined || json === null) return undefined
  if (typeof json === 'string') return toBytes(json)
  if (typeof json !== 'object') return json
  if (depth >= deepest) throw new Error(`the value is nested more than ${deepest} levels deep`)
  const table = runtime.newTable()
  if (Array.isArray(json)) {
    if (json.length === 0) emptyArrays.add(table)
    for (const [index, item] of json.entries()) table.set(index + 1, fromJson(runtime, item, depth + 1))
  } else {
    for (const [key, item] of Object.entries(json)) table.set(key, fromJson(runtime, item, depth + 1))
  }
  return table
}
