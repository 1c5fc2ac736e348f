import { toBytes, toUnicode } from './text/bytes.ts'
import {
  basicType,
  firstEntry,
  lazyTable,
  objects,
  rawSet,
  strings,
  tables,
  tags,
  variantType,
} from './engine/engine.ts'
import type { LuaState, LuaString, RawFunction, RawTable, TaggedValue } from './engine/fengari-types.ts'
import type { LuaFunction, LuaRuntime, LuaTable, LuaValue, TableKey } from './lua-value.ts'
import { implementationIn, nameOfShared } from './shared-functions.ts'
import { nameOf } from './shared-strings.ts'

/** Turns fengari's values into those of the plugin API and back. Tables and functions keep their identity. */
export interface References {
  fromTagged(value: TaggedValue): LuaValue
  /** Throws `TypeError` for what is no Lua value, or belongs to another state. */
  toTagged(value: LuaValue): TaggedValue
  newTable: LuaRuntime['newTable']
  /** What Lua knows as `shared` is this function from now on; answers what Lua knew it as before. */
  adopt(made: LuaFunction, shared: RawFunction): RawFunction
}

/** Bytes of a string whose text is remembered, once somebody wants it. */
const rememberedText = 32

/** Entries of tables between two calls of `working`: some hundred microseconds. */
const entriesPerSign = 2_000

/** What all references of one state share. */
interface Conversions {
  /** So many entries are about to be looked at, or made. */
  passed(entries: number): void
  fromTagged(value: TaggedValue): LuaValue
  toTagged(value: LuaValue): TaggedValue
  keyOf(key: TableKey): TaggedValue
}

const tagged = (type: number, value: unknown): TaggedValue => new objects.TValue(type, value)

/**
 * A class, unlike elsewhere: one of these is made for each table that crosses, and a dozen functions for each of them
 * would be more work than the crossing itself.
 */
class TableReference implements LuaTable {
  readonly kind = 'table'
  readonly #state: LuaState
  readonly #table: RawTable
  readonly #convert: Conversions

  constructor(state: LuaState, table: RawTable, convert: Conversions) {
    this.#state = state
    this.#table = table
    this.#convert = convert
  }

  /** The table of a reference that was made with these conversions. */
  static tableOf(value: object, convert: Conversions): RawTable | undefined {
    return #table in value && value.#convert === convert ? value.#table : undefined
  }

  get(key: TableKey): LuaValue {
    const { fromTagged, keyOf } = this.#convert
    return fromTagged(tables.luaH_get(this.#state, this.#table, keyOf(key)))
  }

  set(key: TableKey, value: LuaValue): void {
    const { toTagged, keyOf, passed } = this.#convert
    passed(1)
    // A list may have holes, and is as long as it was made.
    if (typeof key === 'number' && key > 0 && (key | 0) === key)
      tables.luaH_setint(this.#table, key, toTagged(value))
    else rawSet(this.#state, this.#table, keyOf(key), toTagged(value))
    tables.invalidateTMcache(this.#table)
  }

  get length(): number {
    return tables.luaH_getn(this.#table)
  }

  entries(): [LuaValue, LuaValue][] {
    const { fromTagged, passed } = this.#convert
    const pairs: [LuaValue, LuaValue][] = []
    for (let entry = firstEntry(this.#table); entry !== undefined; entry = entry.n) {
      pairs.push([fromTagged(entry.key), fromTagged(entry.value)])
    }
    passed(1 + pairs.length)
    return pairs
  }

  textEntries(): [LuaValue | string, LuaValue | string][] {
    const { fromTagged, passed } = this.#convert
    const pairs: [LuaValue | string, LuaValue | string][] = []
    for (let entry = firstEntry(this.#table); entry !== undefined; entry = entry.n) {
      pairs.push([textOf(entry.key) ?? fromTagged(entry.key), textOf(entry.value) ?? fromTagged(entry.value)])
    }
    passed(1 + pairs.length)
    return pairs
  }

  get metatable(): LuaTable | undefined {
    const { metatable } = this.#table
    return metatable === null
      ? undefined
      : (this.#convert.fromTagged(tagged(tags.table, metatable)) as LuaTable)
  }

  set metatable(value: LuaTable | undefined) {
    this.#table.metatable = value === undefined ? null : (this.#convert.toTagged(value).value as RawTable)
  }

  get writer(): LuaFunction | undefined {
    const { writer } = this.#table
    return writer === undefined ? undefined : (this.#convert.fromTagged(writer) as LuaFunction)
  }

  set writer(value: LuaFunction | undefined) {
    this.#table.writer = value === undefined ? undefined : this.#convert.toTagged(value)
  }
}

/** The text of a string of Lua; undefined for anything else. Keys and short words are the same ones again and again. */
function textOf({ type, value }: TaggedValue): string | undefined {
  if (basicType(type) !== basicType(tags.string)) return undefined
  const string = value as LuaString
  if (string.text !== undefined) return string.text
  const text = toUnicode(string.realstring)
  if (string.realstring.length <= rememberedText) string.text = text
  return text
}

/** `working`: called now and then while much is turned into values of Lua, or back, in one go. */
export function createReferences(L: LuaState, stringLimit: number, working: () => void): References {
  /** Of functions, by what they stand for, so that one function is one object; and the way back. */
  const functions = new WeakMap<object, LuaFunction>()
  const contents = new WeakMap<object, TaggedValue>()
  const conversions: Conversions = { fromTagged, toTagged, keyOf, passed }
  let untilSign = entriesPerSign

  function passed(entries: number): void {
    untilSign -= entries
    if (untilSign > 0) return
    untilSign = entriesPerSign
    working()
  }

  // Not through fengari's own maker: raising a Lua error is not for code that Lua did not call.
  function taggedString(bytes: Uint8Array): TaggedValue {
    if (bytes.length > stringLimit) throw new RangeError(`string too long (more than ${stringLimit} bytes)`)
    return tagged(tags.string, new strings.TString(L, bytes))
  }

  function keyOf(key: TableKey): TaggedValue {
    if (typeof key === 'string') return nameOf(key) ?? taggedString(toBytes(key))
    if (Number.isNaN(key)) throw new TypeError('a table key must not be NaN')
    return toTagged(key)
  }

  function asTable(table: RawTable): LuaTable {
    table.reference ??= new TableReference(L, table, conversions)
    return table.reference
  }

  function asFunction(value: TaggedValue): LuaFunction {
    const known = functions.get(value.value as object) ?? sharedIn(value.value as RawFunction)
    if (known !== undefined) return known
    const made: LuaFunction = {
      kind: 'function',
      native: variantType(value.type) !== tags.luaFunction,
    }
    functions.set(value.value as object, made)
    contents.set(made, tagged(value.type, value.value))
    return made
  }

  function sharedIn(raw: RawFunction): LuaFunction | undefined {
    if (nameOfShared(raw) === undefined) return undefined
    // It has been adopted then.
    implementationIn(L, raw)
    return functions.get(raw)
  }

  function adopt(made: LuaFunction, shared: RawFunction): RawFunction {
    const before = toTagged(made).value as RawFunction
    functions.set(shared, made)
    contents.set(made, tagged(tags.jsFunction, shared))
    return before
  }

  function fromTagged(value: TaggedValue): LuaValue {
    switch (basicType(value.type)) {
      case tags.boolean:
        return Boolean(value.value)
      case tags.number:
        return value.value as number
      case basicType(tags.string):
        return new Uint8Array((value.value as LuaString).realstring)
      case tags.table:
        return asTable(value.value as RawTable)
      case basicType(tags.jsFunction):
        return asFunction(value)
      default:
        // A thread: the host has no use for one.
        return undefined
    }
  }

  function toTagged(value: LuaValue): TaggedValue {
    if (value === undefined) return tagged(tags.nil, null)
    if (typeof value === 'boolean') return tagged(tags.boolean, value)
    if (typeof value === 'number') return tagged(tags.number, value)
    if (value instanceof Uint8Array) return taggedString(new Uint8Array(value))
    const table = typeof value === 'object' ? TableReference.tableOf(value, conversions) : undefined
    if (table !== undefined) return tagged(tags.table, table)
    const content = typeof value === 'object' ? contents.get(value) : undefined
    if (content === undefined) throw new TypeError('no Lua value, or one of another plugin')
    return tagged(content.type, content.value)
  }

  function newTable(fill?: (table: LuaTable) => void): LuaTable {
    passed(1)
    return asTable(fill === undefined ? tables.luaH_new(L) : lazyTable(L, fill))
  }

  return { fromTagged, toTagged, adopt, newTable }
}
