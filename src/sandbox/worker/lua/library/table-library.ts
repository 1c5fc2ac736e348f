import { createByteBuilder } from '../text/byte-builder.ts'
import { toBytes, toUnicode } from '../text/bytes.ts'
import { auxiliary, basicType, lua, tags } from '../engine/engine.ts'
import type { LuaState, LuaString, RawFunction, RawTable, TaggedValue } from '../engine/fengari-types.ts'
import { numberText } from '../text/number-text.ts'
import { LuaFailure, setFunctions } from '../raw-function.ts'
import { inPieces, stepwise } from '../raw-steps.ts'
import type { LibraryContext } from './libraries.ts'
import {
  copyOf,
  type List,
  listArgument,
  listAt,
  mostElements,
  nothing,
  pushValue,
  slotAt,
} from './list-access.ts'
import { sort } from './sort.ts'

/** What needs nothing of its state. fengari's own takes twenty times as long for an element. */
export function openTable(L: LuaState): number {
  lua.lua_createtable(L, 0, 0)
  setFunctions(L, { insert, maxn, move, pack, remove, unpack })
  return 1
}

export function tableFunctions(context: LibraryContext): Record<string, RawFunction> {
  return { concat: (L) => concat(L, context), sort: stepwise(sort) }
}

const empty = new Uint8Array()

/** Elements of a list, or of two, on which a function works. */
interface ElementWork {
  readonly count: number
  /** Elements between two questions whether to go on. */
  readonly perPause: number
  /** On those with these numbers, from 0. */
  each(begin: number, stop: number): void
  /** Answers how many results there are on the stack. */
  end(L: LuaState): number
}

/** At once when they are few. */
function forEach(L: LuaState, work: ElementWork): number {
  const { count } = work
  if (count > work.perPause) return partByPart(L, work)
  work.each(0, count)
  return work.end(L)
}

function partByPart(L: LuaState, work: ElementWork): number {
  const { count, perPause } = work
  let done = 0
  return inPieces(L, () => {
    const stop = Math.min(count, done + perPause)
    work.each(done, stop)
    done = stop
    return done < count ? undefined : work.end(L)
  })
}

/** fengari's own would first build the string and then look at its length. */
function concat(L: LuaState, { stringLimit }: LibraryContext): number {
  const list = listArgument(L, 1)
  const separator = lua.lua_isnoneornil(L, 2) ? empty : auxiliary.luaL_checkstring(L, 2)
  const first = auxiliary.luaL_optinteger(L, 3, 1)
  const last = lua.lua_isnoneornil(L, 4) ? list.length() : auxiliary.luaL_checkinteger(L, 4)
  const builder = createByteBuilder(stringLimit)
  return forEach(L, {
    count: last - first + 1,
    perPause: list.perPause,
    each(begin, stop) {
      for (let index = first + begin; index < first + stop; index += 1) {
        const value = list.get(index)
        builder.add(textOf(value) ?? failToConcatenate(L, value, index))
        if (index < last && separator.length > 0) builder.add(separator)
      }
    },
    end() {
      lua.lua_pushstring(L, builder.take())
      return 1
    },
  })
}

function textOf({ type, value }: TaggedValue): Uint8Array | undefined {
  if (type === tags.string) return (value as LuaString).realstring
  return basicType(type) === basicType(tags.number) ? toBytes(numberText(value as number)) : undefined
}

function failToConcatenate(L: LuaState, value: TaggedValue, index: number): never {
  pushValue(L, value)
  const kind = toUnicode(auxiliary.luaL_typename(L, -1))
  throw new LuaFailure(`invalid value (${kind}) at index ${index} in table for 'concat'`)
}

function insert(L: LuaState): number {
  const list = listArgument(L, 1)
  const end = list.length() + 1
  const count = lua.lua_gettop(L)
  if (count !== 2 && count !== 3) throw new LuaFailure("wrong number of arguments to 'insert'")
  const position = count === 2 ? end : auxiliary.luaL_checkinteger(L, 2)
  if (position < 1 || position > end) failOutOfBounds(L, 2)
  if (position < end) return forEach(L, new Insertion(list, position, list, position + 1, end - position))
  list.set(end, copyOf(slotAt(L, count)))
  return 0
}

function remove(L: LuaState): number {
  const list = listArgument(L, 1)
  const size = list.length()
  const position = auxiliary.luaL_optinteger(L, 2, size)
  if (position !== size && (position < 1 || position > size + 1)) failOutOfBounds(L, 1)
  pushValue(L, list.get(position))
  if (position < size) return forEach(L, new Removal(list, position + 1, list, position, size - position))
  list.set(position, nothing)
  return 1
}

function failOutOfBounds(L: LuaState, argument: number): void {
  auxiliary.luaL_argerror(L, argument, toBytes('position out of bounds'))
}

function move(L: LuaState): number {
  const from = listArgument(L, 1)
  const first = auxiliary.luaL_checkinteger(L, 2)
  const last = auxiliary.luaL_checkinteger(L, 3)
  const start = auxiliary.luaL_checkinteger(L, 4)
  const target = lua.lua_isnoneornil(L, 5) ? 1 : 5
  const to = slotAt(L, 1).value === slotAt(L, target).value ? from : listArgument(L, target)
  const count = last - first + 1
  if (count > mostElements) auxiliary.luaL_argerror(L, 3, toBytes('too many elements to move'))
  return forEach(L, new Shift(from, first, to, start, count))
}

/**
 * Copies elements, from the last one on where the first ones would cover what is still to be copied. A class, as closures take half as
 * long again for a short list.
 */
class Shift implements ElementWork {
  readonly count: number
  readonly perPause: number
  protected readonly from: List
  protected readonly first: number
  protected readonly to: List
  /** Where the first one gets to. */
  protected readonly start: number

  constructor(from: List, first: number, to: List, start: number, count: number) {
    this.count = count
    this.perPause = Math.min(from.perPause, to.perPause)
    this.from = from
    this.first = first
    this.to = to
    this.start = start
  }

  each(begin: number, stop: number): void {
    const { from, first, to, start, count } = this
    const isApart = start >= first + count || start <= first || from !== to
    for (let step = begin; step < stop; step += 1) {
      const offset = isApart ? step : count - 1 - step
      to.set(start + offset, from.get(first + offset))
    }
  }

  end(L: LuaState): number {
    lua.lua_pushvalue(L, lua.lua_isnoneornil(L, 5) ? 1 : 5)
    return 1
  }
}

/** Of what lies behind the place of a new element. */
class Insertion extends Shift {
  override end(L: LuaState): number {
    this.to.set(this.first, copyOf(slotAt(L, 3)))
    return 0
  }
}

/** Of what lies behind the element that goes, which is on the stack. */
class Removal extends Shift {
  override end(): number {
    this.to.set(this.start + this.count, nothing)
    return 1
  }
}

function pack(L: LuaState): number {
  const count = lua.lua_gettop(L)
  lua.lua_createtable(L, count, 1)
  lua.lua_insert(L, 1)
  const list = listAt(L, 1)
  for (let index = count; index > 0; index -= 1) list.set(index, slotAt(L, index + 1))
  lua.lua_settop(L, 1)
  lua.lua_pushnumber(L, count)
  lua.lua_setfield(L, 1, toBytes('n'))
  return 1
}

function unpack(L: LuaState): number {
  const list = listAt(L, 1)
  const first = auxiliary.luaL_optinteger(L, 2, 1)
  const last = lua.lua_isnoneornil(L, 3) ? list.length() : auxiliary.luaL_checkinteger(L, 3)
  const count = last - first + 1
  if (count <= 0) return 0
  if (!lua.lua_checkstack(L, count)) throw new LuaFailure('too many results to unpack')
  if (count <= list.perPause) {
    for (let index = first; index <= last; index += 1) pushValue(L, list.get(index))
    return count
  }
  return partByPart(L, {
    ...{ count, perPause: list.perPause },
    each(begin, stop) {
      for (let index = first + begin; index < first + stop; index += 1) pushValue(L, list.get(index))
    },
    end: () => count,
  })
}

/** The largest positive numerical key, or 0. */
function maxn(L: LuaState): number {
  auxiliary.luaL_checktype(L, 1, lua.LUA_TTABLE)
  const table = slotAt(L, 1).value as RawTable
  let largest = 0
  for (let entry = table.f; entry !== undefined; entry = entry.n) {
    if (basicType(entry.key.type) === tags.number) largest = Math.max(largest, entry.key.value as number)
  }
  lua.lua_pushnumber(L, largest)
  return 1
}
