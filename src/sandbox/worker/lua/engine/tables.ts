/**
 * Lua's tables, in place of fengari's, which made two maps for each table and one more for each field that was added.
 * All of fengari reaches tables through these functions, and its own are not in the worker's program. A field that is set
 * past whoever watches its table is set by `rawSet`.
 */
import { debugging, metamethods, objects, tables } from './core.ts'
import { definitions, strings } from './settings.ts'
import { toBytes } from '../text/bytes.ts'
import type { LuaState, LuaString, RawTable, TableEntry, TaggedValue } from './fengari-types.ts'
import type { LuaTable } from '../lua-value.ts'

const {
  LUA_TNIL: nilTag,
  LUA_TNUMFLT: floatTag,
  LUA_TNUMINT: integerTag,
  LUA_TLNGSTR: stringTag,
  LUA_TLIGHTUSERDATA: lightTag,
  LUA_TTABLE: tableTag = 0,
} = definitions.constant_types
const { TValue, luaO_nilobject: nothing } = objects
const { luaS_hashlongstr: textHash } = strings

/** Bytes of a key, of which another text with the same bytes is compared each time. */
const longKey = 65_536
/** Of all tables whose fields are still to be set. */
const none = new Map<unknown, TableEntry>()

/** A class, because fengari asks for it by `instanceof`. */
class Table implements RawTable {
  /** For `tostring`. */
  readonly id: number
  // Not undefined at first: V8 would have to look each time whether it is a map.
  declare strong: Map<unknown, TableEntry>
  isShared = false
  f: TableEntry | undefined = undefined
  l: TableEntry | undefined = undefined
  reach = 0
  removed: Map<unknown, TableEntry> | undefined = undefined
  removedObjects: WeakMap<object, TableEntry> | undefined = undefined
  metatable: RawTable | null = null
  flags = ~0
  writer: TaggedValue | undefined = undefined
  reference: LuaTable | undefined = undefined
  declare fill: RawTable['fill']

  constructor(L: LuaState, fill?: RawTable['fill']) {
    this.id = L.l_G.id_counter++
    this.fill = fill
    this.strong = fill === undefined ? new Map<unknown, TableEntry>() : none
  }
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' ? value !== null : typeof value === 'function'

/** What stands for a key in a map. The compiler marks whole numbers among its constants as light userdata. */
function hashOf({ type, value }: TaggedValue): unknown {
  if (type === stringTag) return textHash(value as LuaString)
  return type === lightTag ? `#${String(value)}` : value
}

/** One instruction with a key like this takes as long as thousands: Lua's hook asks before the next one. */
function askAfterLong(L: LuaState, { type, value }: TaggedValue): void {
  if (type === stringTag && (value as LuaString).realstring.length > longKey) L.hookcount = 1
}

/** Behind all others, or in front of `next`. */
function add(table: RawTable, hash: unknown, key: TaggedValue, value: TaggedValue, next?: TableEntry): void {
  table.removed = undefined
  table.removedObjects = undefined
  const before = next === undefined ? table.l : next.p
  const entry: TableEntry = { key, value, p: before, n: next }
  if (before === undefined) table.f = entry
  else before.n = entry
  if (next === undefined) table.l = entry
  else next.p = entry
  table.strong.set(hash, entry)
}

function remove(table: RawTable, hash: unknown): void {
  const entry = table.strong.get(hash)
  if (entry === undefined) return
  entry.key.setdeadvalue()
  const { p: before, n: next } = entry
  entry.p = undefined
  if (before === undefined) table.f = next
  else before.n = next
  if (next === undefined) table.l = before
  else next.p = before
  table.strong.delete(hash)
  if (isObject(hash)) (table.removedObjects ??= new WeakMap()).set(hash, entry)
  else (table.removed ??= new Map()).set(hash, entry)
}

/** A table whose fields are set when somebody looks, as most that the host hands out are only kept. It needs a reference. */
export const lazyTable = (L: LuaState, fill: RawTable['fill']): RawTable => new Table(L, fill)

function materialize(table: RawTable): void {
  const { fill, reference } = table
  table.fill = undefined
  table.strong = new Map()
  if (reference !== undefined) fill?.(reference)
}

/** The first entry, in the order in which `next` gives them. */
export function firstEntry(table: RawTable): TableEntry | undefined {
  if (table.fill !== undefined) materialize(table)
  return table.f
}

/** A table with the same fields, which costs nothing until somebody changes one of the two. */
export function shareFields(L: LuaState, table: RawTable): RawTable {
  const made = new Table(L)
  takeFields(made, table)
  return made
}

function takeFields(table: RawTable, from: RawTable): void {
  table.isShared = from.isShared = true
  table.strong = from.strong
  table.f = from.f
  table.l = from.l
  table.reach = from.reach
}

function copyFields(table: RawTable): void {
  const shared = table.f
  table.isShared = false
  table.strong = new Map()
  table.f = table.l = undefined
  for (let entry = shared; entry !== undefined; entry = entry.n) {
    const { key, value } = entry
    add(table, hashOf(key), new TValue(key.type, key.value), new TValue(value.type, value.value))
  }
}

/** The next element of a list, past holes; of those that the machine sets in one step, which are 50. */
function elementAfter({ strong, reach }: RawTable, key: number): TableEntry | undefined {
  const last = Math.min(reach, key + 50)
  for (let next = key + 1; next <= last; next += 1) {
    const entry = strong.get(next)
    if (entry !== undefined) return entry
  }
  return undefined
}

function put(
  table: RawTable,
  hash: unknown,
  type: number,
  key: unknown,
  value: TaggedValue,
  position?: number,
): void {
  if (table.fill !== undefined) materialize(table)
  if (table.isShared) copyFields(table)
  if (value.type === nilTag) {
    remove(table, hash)
    return
  }
  const entry = table.strong.get(hash)
  if (entry === undefined) {
    const next = position === undefined ? undefined : elementAfter(table, position)
    add(table, hash, new TValue(type, key), new TValue(value.type, value.value), next)
  } else {
    entry.value.type = value.type
    entry.value.value = value.value
  }
}

/** Sets a field past whoever watches. */
export function rawSet(L: LuaState, table: RawTable, key: TaggedValue, value: TaggedValue): void {
  const { type, value: own } = key
  if (type === nilTag) debugging.luaG_runerror(L, toBytes('table index is nil'))
  if (type === floatTag && Number.isNaN(own)) debugging.luaG_runerror(L, toBytes('table index is NaN'))
  askAfterLong(L, key)
  const isInteger = type === floatTag && ((own as number) | 0) === own
  put(table, hashOf(key), isInteger ? (integerTag ?? 0) : type, own, value)
}

/**
 * The length: of several that Lua allows where there are holes, the one that Lua itself has. It keeps room for what a list is
 * made of, so that `{nil, nil, "error"}` has three, and all of `{...}` is handed on by `unpack`.
 */
function lengthOf(table: RawTable): number {
  if (table.fill !== undefined) materialize(table)
  const { strong, reach } = table
  const isReached = reach > 0 && strong.has(reach)
  let last = isReached ? reach : 0
  let beyond = isReached ? reach + 1 : strong.size + 1
  while (strong.has(beyond)) {
    last = beyond
    beyond *= 2
  }
  while (beyond - last > 1) {
    const middle = Math.floor((last + beyond) / 2)
    if (strong.has(middle)) last = middle
    else beyond = middle
  }
  return last
}

const shared = { l_G: { tmname: [] } }
metamethods.luaT_init(shared)
/** The names of metamethods are the same for all states. */
metamethods.luaT_init = ({ l_G: state }) => {
  state.tmname = shared.l_G.tmname
}

Object.assign(tables, {
  Table,
  luaH_new: (L: LuaState) => new Table(L),
  // Nil and NaN are no field's key.
  luaH_get: (L: LuaState, table: RawTable, key: TaggedValue) => {
    if (table.fill !== undefined) materialize(table)
    askAfterLong(L, key)
    return table.strong.get(hashOf(key))?.value ?? nothing
  },
  luaH_getint: (table: RawTable, key: number) => {
    if (table.fill !== undefined) materialize(table)
    return table.strong.get(key)?.value ?? nothing
  },
  luaH_getstr: (table: RawTable, key: LuaString) => {
    if (table.fill !== undefined) materialize(table)
    return table.strong.get(textHash(key))?.value ?? nothing
  },
  luaH_setint(table: RawTable, key: number, value: TaggedValue): void {
    // A list is made from its end, and taken back from there; `pairs` goes through it from its beginning, as in Lua.
    if (value.type !== nilTag) table.reach = Math.max(table.reach, key)
    else if (key === table.reach) table.reach = key - 1
    put(table, key, integerTag ?? 0, key, value, key)
  },
  luaH_getn: lengthOf,
  /** Metamethods that were absent may be there now. */
  invalidateTMcache(table: RawTable): void {
    table.flags = 0
  },
  luaH_setfrom(L: LuaState, table: RawTable, key: TaggedValue, value: TaggedValue): void {
    if (table.writer === undefined) rawSet(L, table, key, value)
    else metamethods.luaT_callTM(L, table.writer, new TValue(tableTag, table), key, value, 0)
  },
  /** Puts the field after that of the key in `slot` there and above; false behind the last one. */
  luaH_next(L: LuaState, table: RawTable, slot: number): boolean {
    const key = L.stack[slot] ?? nothing
    let entry = firstEntry(table)
    if (key.type !== nilTag) {
      const hash = hashOf(key)
      const found =
        table.strong.get(hash) ??
        table.removed?.get(hash) ??
        (isObject(hash) ? table.removedObjects?.get(hash) : undefined)
      if (found === undefined) return debugging.luaG_runerror(L, toBytes("invalid key to 'next'"))
      entry = found.n
      while (entry?.key.ttisdeadkey() === true) entry = entry.n
    }
    if (entry === undefined) return false
    L.stack[slot]?.setfrom(entry.key)
    L.stack[slot + 1]?.setfrom(entry.value)
    return true
  },
})
