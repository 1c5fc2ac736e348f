import type { SerializedValues, Reference } from '../../../schema/worker/plugin-call.ts'
import { serializedReferenceLimit } from '../../../schema/worker/plugin-call-limits.ts'
import type { LuaFunction, LuaTable, LuaValue } from '../lua/lua-value.ts'
import { deepest } from '../lua/json-values.ts'
import { pause, type Steps } from '../lua/steps.ts'
import { createValueWriter, firstBuffer, firstCapacity, firstView, tag } from './value-writer.ts'

/**
 * Tables among the values of one call, and their entries. In Lua one takes some hundred bytes, however few it has here: more could
 * fill the receiver's memory.
 */
const serializedEntryLimit = 100_000
/** Values after which others may have their turn: less than a millisecond of work. */
const valuesAtOnce = 256

export interface Serialization {
  /** What the receiver is to call it by. */
  refer(value: LuaTable | LuaFunction): Reference
  /** What is left out; absent: nothing. */
  withheld?: ((value: LuaValue) => boolean) | undefined
}

/**
 * Lua values as bytes: numbers and strings exactly, plain tables copied, one that occurs twice as one. Functions,
 * and tables with functions or a metatable, become references. Throws `Error` for what is too large or too deep.
 */
export function* serializeValues(values: readonly LuaValue[], how: Serialization): Steps<SerializedValues> {
  return serializeFlat(values, how) ?? (yield* serializeNested(values, how))
}

/** What most calls hand over, at once: a few values none of which is a table to be copied. Undefined: it is more than that. */
export function serializeFlat(
  values: readonly LuaValue[],
  { refer, withheld }: Serialization,
): SerializedValues | undefined {
  let size = 0
  for (const value of values) {
    size += flatSize(value)
    if (size > firstCapacity) return undefined
  }
  const references: Reference[] = []
  let at = 0
  for (const value of values) {
    if (value === undefined || withheld?.(value) === true) firstView.setUint8(at++, tag.nil)
    else if (typeof value === 'boolean') firstView.setUint8(at++, value ? tag.yes : tag.no)
    else if (typeof value === 'number') {
      firstView.setUint8(at, tag.number)
      firstView.setFloat64(at + 1, value, true)
      at += 9
    } else {
      const isString = value instanceof Uint8Array
      firstView.setUint8(at, isString ? tag.string : tag.reference)
      firstView.setUint32(at + 1, isString ? value.length : references.length, true)
      at += 5
      if (isString) {
        firstBuffer.set(value, at)
        at += value.length
      } else references.push(refer(value))
    }
  }
  return { body: firstBuffer.slice(0, at), references }
}

/** Bytes that it takes at most; more than there may be for a table that is copied. */
function flatSize(value: LuaValue): number {
  if (value instanceof Uint8Array) return 5 + value.length
  if (typeof value !== 'object') return 9
  return value.kind === 'table' && value.metatable === undefined ? firstCapacity + 1 : 5
}

function* serializeNested(
  values: readonly LuaValue[],
  { refer, withheld }: Serialization,
): Steps<SerializedValues> {
  const bytes = createValueWriter()
  const references: Reference[] = []
  /** Tables by their number, in the order in which they begin. */
  const tables = new Map<LuaTable, number>()
  /** Tables that have begun and not ended, each within the one before. */
  const open: { entries: readonly [LuaValue, LuaValue][]; written: number }[] = []
  const count = createEntryCount()

  function write(value: LuaValue): void {
    if (value === undefined || withheld?.(value) === true) bytes.byte(tag.nil)
    else if (typeof value === 'boolean') bytes.byte(value ? tag.yes : tag.no)
    else if (typeof value === 'number') bytes.number(value)
    else if (value instanceof Uint8Array) bytes.string(value)
    else writeObject(value)
  }

  function writeObject(value: LuaTable | LuaFunction): void {
    const known = value.kind === 'table' ? tables.get(value) : undefined
    if (known !== undefined) {
      bytes.again(known)
      return
    }
    const all = value.kind === 'table' && value.metatable === undefined ? value.entries() : undefined
    if (value.kind === 'function' || all === undefined || all.some(hasFunction)) {
      if (references.length >= serializedReferenceLimit)
        throw new Error(`more than ${serializedReferenceLimit} functions and objects at a time`)
      bytes.reference(references.length)
      references.push(refer(value))
      return
    }
    if (open.length >= deepest) throw new Error(`the table is nested more than ${deepest} levels deep`)
    tables.set(value, tables.size)
    // A pair whose value is withheld is left out whole: nil is no value of a table.
    const entries = withheld === undefined ? all : all.filter((pair) => !pair.some((part) => withheld(part)))
    count(1 + entries.length)
    bytes.table(entries.length)
    open.push({ entries, written: 0 })
  }

  let work = 0
  for (const value of values) {
    write(value)
    for (let table = open.at(-1); table !== undefined; table = open.at(-1)) {
      const pair = table.entries[table.written >> 1]
      if (pair === undefined) open.pop()
      else {
        write(pair[table.written & 1])
        table.written += 1
      }
      work += 1
      if (work % valuesAtOnce === 0) {
        bytes.keep()
        yield pause
      }
    }
  }
  return { body: bytes.take(), references }
}

function hasFunction(pair: [LuaValue, LuaValue]): boolean {
  return pair.some((part) => typeof part === 'object' && 'kind' in part && part.kind === 'function')
}

export interface Deserialization {
  newTable(): LuaTable
  /** What the receiver has for each reference. */
  resolved: readonly LuaValue[]
}

/** The values that these bytes and references stand for. Throws `Error` for broken ones. */
export function* deserializeValues(body: Uint8Array, how: Deserialization): Steps<LuaValue[]> {
  return deserializeFlat(body, how) ?? (yield* deserializeNested(body, how))
}

/** The same, at once, for few bytes without a table. Undefined: there is one, or the bytes are broken. */
export function deserializeFlat(
  body: Uint8Array,
  { resolved }: Pick<Deserialization, 'resolved'>,
): LuaValue[] | undefined {
  const { length } = body
  if (length > firstCapacity) return undefined
  firstBuffer.set(body)
  const values: LuaValue[] = []
  for (let at = 0; at < length;) {
    const kind = firstView.getUint8(at)
    at += 1
    if (kind === tag.nil) values.push(undefined)
    else if (kind === tag.no || kind === tag.yes) values.push(kind === tag.yes)
    else if (kind === tag.number && at + 8 <= length) {
      values.push(firstView.getFloat64(at, true))
      at += 8
    } else if ((kind === tag.string || kind === tag.reference) && at + 4 <= length) {
      const word = firstView.getUint32(at, true)
      at += 4
      if (kind === tag.reference) values.push(resolved[word])
      else if (at + word <= length) {
        values.push(body.slice(at, at + word))
        at += word
      } else return undefined
    } else return undefined
  }
  return values
}

function* deserializeNested(body: Uint8Array, { newTable, resolved }: Deserialization): Steps<LuaValue[]> {
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength)
  const tables: LuaTable[] = []
  /** Tables that have begun and not ended, each within the one before. `key` has been read, and its value has not. */
  const open: { table: LuaTable; pairs: number; hasKey: boolean; key: LuaValue }[] = []
  // Whoever wrote it may not have kept to the limit.
  const countEntries = createEntryCount()
  let at = 0

  function word(): number {
    at += 4
    return view.getUint32(at - 4, true)
  }

  function read(): LuaValue {
    at += 1
    switch (view.getUint8(at - 1)) {
      case tag.nil:
        return undefined
      case tag.no:
        return false
      case tag.yes:
        return true
      case tag.number:
        at += 8
        return view.getFloat64(at - 8, true)
      case tag.string: {
        const length = word()
        if (at + length > body.length) throw new RangeError('a string is cut off')
        at += length
        return body.slice(at - length, at)
      }
      case tag.table:
        return beginTable(word())
      case tag.again:
        return tables[word()]
      case tag.reference:
        return resolved[word()]
      default:
        throw new RangeError('an unknown kind of value')
    }
  }

  function beginTable(pairs: number): LuaTable {
    const table = newTable()
    tables.push(table)
    countEntries(1 + pairs)
    open.push({ table, pairs, hasKey: false, key: undefined })
    return table
  }

  let work = 0
  const values: LuaValue[] = []
  while (at < body.length) {
    values.push(read())
    for (let inner = open.at(-1); inner !== undefined; inner = open.at(-1)) {
      if (inner.hasKey) {
        const { table, key } = inner
        inner.hasKey = false
        inner.pairs -= 1
        const value = read()
        if (key !== undefined && value !== undefined) table.set(key, value)
      } else if (inner.pairs > 0) {
        inner.hasKey = true
        inner.key = read()
      } else open.pop()
      work += 1
      if (work % valuesAtOnce === 0) yield pause
    }
  }
  return values
}

function createEntryCount(): (more: number) => void {
  let entries = 0
  return (more) => {
    entries += more
    if (entries > serializedEntryLimit)
      throw new RangeError(`the tables have more than ${serializedEntryLimit} entries`)
  }
}
