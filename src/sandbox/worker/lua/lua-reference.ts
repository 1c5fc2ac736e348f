import { toBytes } from './bytes.ts'
import { basicType, objects, rawSet, strings, tables, tags, variantType } from './engine.ts'
import type { LuaState, LuaString, RawTable, TaggedValue } from './fengari-types.ts'
import type { LuaFunction, LuaTable, LuaValue, TableKey } from './lua-value.ts'

/** Turns fengari's values into those of the plugin API and back. Tables and functions keep their identity. */
export interface References {
  fromTagged(value: TaggedValue): LuaValue
  /** Throws `TypeError` for what is no Lua value, or belongs to another state. */
  toTagged(value: LuaValue): TaggedValue
  newTable(): LuaTable
}

export function createReferences(L: LuaState, stringLimit: number): References {
  /** Facades by what they stand for, so that one table is one object. */
  const facades = new WeakMap<object, LuaTable | LuaFunction>()
  const contents = new WeakMap<object, TaggedValue>()

  const tagged = (type: number, value: unknown): TaggedValue => new objects.TValue(type, value)

  // Not through fengari's own maker: raising a Lua error is not for code that Lua did not call.
  function taggedString(bytes: Uint8Array): TaggedValue {
    if (bytes.length > stringLimit) throw new RangeError(`string too long (more than ${stringLimit} bytes)`)
    return tagged(tags.string, new strings.TString(L, bytes))
  }

  function facade<T extends LuaTable | LuaFunction>(value: TaggedValue, make: () => T): T {
    const known = facades.get(value.value as object)
    if (known !== undefined) return known as T
    const made = make()
    facades.set(value.value as object, made)
    contents.set(made, tagged(value.type, value.value))
    return made
  }

  const same = (value: unknown, other: LuaValue): boolean =>
    typeof other === 'object' && contents.get(other)?.value === value

  function keyOf(key: TableKey): TaggedValue {
    if (typeof key === 'string') return taggedString(toBytes(key))
    if (Number.isNaN(key)) throw new TypeError('a table key must not be NaN')
    return toTagged(key)
  }

  function tableFacade(table: RawTable): LuaTable {
    return {
      kind: 'table',
      get: (key) => fromTagged(tables.luaH_get(L, table, keyOf(key))),
      set(key, value) {
        rawSet(L, table, keyOf(key), toTagged(value))
        tables.invalidateTMcache(table)
      },
      get length() {
        return tables.luaH_getn(table)
      },
      entries() {
        const pairs: [LuaValue, LuaValue][] = []
        for (let entry = table.f; entry !== undefined; entry = entry.n) {
          pairs.push([fromTagged(entry.key), fromTagged(entry.value)])
        }
        return pairs
      },
      get metatable() {
        return table.metatable === null ? undefined : asTable(table.metatable)
      },
      set metatable(value: LuaTable | undefined) {
        table.metatable = value === undefined ? null : (toTagged(value).value as RawTable)
      },
      get writer() {
        return table.writer === undefined ? undefined : (fromTagged(table.writer) as LuaFunction)
      },
      set writer(value: LuaFunction | undefined) {
        table.writer = value === undefined ? undefined : toTagged(value)
      },
      is: (other) => same(table, other),
    }
  }

  const asTable = (table: RawTable): LuaTable => facade(tagged(tags.table, table), () => tableFacade(table))

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
        return facade(value, (): LuaFunction => ({
          kind: 'function',
          native: variantType(value.type) !== tags.luaFunction,
          is: (other) => same(value.value, other),
        }))
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
    const content = typeof value === 'object' ? contents.get(value) : undefined
    if (content === undefined) throw new TypeError('no Lua value, or one of another plugin')
    return tagged(content.type, content.value)
  }

  return { fromTagged, toTagged, newTable: () => asTable(tables.luaH_new(L)) }
}
