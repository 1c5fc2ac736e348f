import { auxiliary, lua, objects, tables, tags } from '../engine/engine.ts'
import type { LuaState, RawTable, TaggedValue } from '../engine/fengari-types.ts'

/** Elements, or comparisons without a function, between two questions whether to go on: a millisecond at most. */
export const elementsPerPause = 5_000
/** Of a list with metamethods, each of which may go through thousands of tables. */
const askedPerPause = 100
/** Of a list that a function goes through; more would not fit into a worker. */
export const mostElements = 10_000_000

/** The elements of a table, for functions that go through many of them. */
export interface List {
  /** Elements between two questions whether to go on. */
  readonly perPause: number
  length(): number
  /** Valid until the element is written. */
  get(position: number): TaggedValue
  set(position: number, value: TaggedValue): void
}

/** Nothing hears of what is read and written. */
class PlainList implements List {
  readonly perPause = elementsPerPause
  private readonly table: RawTable

  constructor(table: RawTable) {
    this.table = table
  }

  length(): number {
    return tables.luaH_getn(this.table)
  }

  get(position: number): TaggedValue {
    return tables.luaH_getint(this.table, position)
  }

  set(position: number, value: TaggedValue): void {
    tables.luaH_setint(this.table, position, value)
  }
}

/** Each element is asked for as Lua does, with metamethods. */
class AskedList implements List {
  readonly perPause = askedPerPause
  private readonly L: LuaState
  private readonly index: number

  constructor(L: LuaState, index: number) {
    this.L = L
    this.index = index
  }

  length(): number {
    return auxiliary.luaL_len(this.L, this.index)
  }

  get(position: number): TaggedValue {
    const { L } = this
    lua.lua_geti(L, this.index, position)
    const value = copyOf(L.stack[L.top - 1] ?? nothing)
    lua.lua_pop(L, 1)
    return value
  }

  set(position: number, value: TaggedValue): void {
    pushValue(this.L, value)
    lua.lua_seti(this.L, this.index, position)
  }
}

/** The argument of this index, from 1. */
export function listAt(L: LuaState, index: number): List {
  const { type, value } = slotAt(L, index)
  if (type !== tags.table) return new AskedList(L, index)
  const table = value as RawTable
  return table.metatable === null && table.writer === undefined
    ? new PlainList(table)
    : new AskedList(L, index)
}

/** The same, of what has to be a table. */
export function listArgument(L: LuaState, index: number): List {
  auxiliary.luaL_checktype(L, index, lua.LUA_TTABLE)
  return listAt(L, index)
}

/** An argument by its index from 1. */
export const slotAt = (L: LuaState, index: number): TaggedValue =>
  L.stack[L.top - lua.lua_gettop(L) + index - 1] ?? nothing

export const nothing: TaggedValue = new objects.TValue(tags.nil, null)

export const copyOf = ({ type, value }: TaggedValue): TaggedValue => new objects.TValue(type, value)

export function pushValue(L: LuaState, value: TaggedValue): void {
  lua.lua_pushnil(L)
  L.stack[L.top - 1]?.setfrom(value)
}
