import { toBytes } from '../text/bytes.ts'
import { auxiliary, lua } from '../engine/engine.ts'
import type { LuaState, RawFunction } from '../engine/fengari-types.ts'
import { pushOwned, setFunctions, StringTooLong } from '../raw-function.ts'
import { format } from './format.ts'
import type { LibraryContext } from './libraries.ts'
import { packFunctions } from './pack.ts'
import { patternFunctions } from './pattern-functions.ts'

/** What needs nothing of its state. fengari's own library brings three times as much, for what is changed below. */
export function openString(L: LuaState): number {
  lua.lua_createtable(L, 0, 0)
  setFunctions(L, {
    byte,
    char,
    len,
    lower: inCase(0x41, 0x5a, 0x20),
    reverse,
    sub,
    upper: inCase(0x61, 0x7a, -0x20),
  })
  // The methods of all strings. They share one metatable: out of reach.
  lua.lua_createtable(L, 0, 2)
  lua.lua_pushvalue(L, -2)
  lua.lua_setfield(L, -2, toBytes('__index'))
  lua.lua_pushboolean(L, false)
  lua.lua_setfield(L, -2, toBytes('__metatable'))
  lua.lua_pushstring(L, empty)
  lua.lua_insert(L, -2)
  lua.lua_setmetatable(L, -2)
  lua.lua_pop(L, 1)
  return 1
}

export function stringFunctions(context: LibraryContext): Record<string, RawFunction> {
  return {
    format: format(context),
    rep: rep(context.stringLimit),
    ...patternFunctions(context),
    ...packFunctions(context),
  }
}

const empty = new Uint8Array()

/** A place in a string, from 1; below 0 it counts from the end. */
function placeOf(position: number, length: number): number {
  if (position >= 0) return position
  return -position > length ? 0 : length + position + 1
}

const textOf = (L: LuaState): Uint8Array => auxiliary.luaL_checkstring(L, 1)

function byte(L: LuaState): number {
  const text = textOf(L)
  const position = auxiliary.luaL_optinteger(L, 2, 1)
  const first = Math.max(1, placeOf(position, text.length))
  const last = Math.min(text.length, placeOf(auxiliary.luaL_optinteger(L, 3, position), text.length))
  if (first > last) return 0
  auxiliary.luaL_checkstack(L, last - first + 1, toBytes('string slice too long'))
  for (const value of text.subarray(first - 1, last)) lua.lua_pushinteger(L, value)
  return last - first + 1
}

function char(L: LuaState): number {
  const bytes = new Uint8Array(lua.lua_gettop(L))
  for (let index = 1; index <= bytes.length; index += 1) {
    const value = auxiliary.luaL_checkinteger(L, index)
    if (value < 0 || value > 255) auxiliary.luaL_argerror(L, index, toBytes('value out of range'))
    bytes[index - 1] = value
  }
  pushOwned(L, bytes)
  return 1
}

function len(L: LuaState): number {
  lua.lua_pushinteger(L, textOf(L).length)
  return 1
}

function reverse(L: LuaState): number {
  pushOwned(L, new Uint8Array(textOf(L)).reverse())
  return 1
}

function sub(L: LuaState): number {
  const text = textOf(L)
  const first = Math.max(1, placeOf(auxiliary.luaL_checkinteger(L, 2), text.length))
  const last = Math.min(text.length, placeOf(auxiliary.luaL_optinteger(L, 3, -1), text.length))
  // It copies what it is given.
  lua.lua_pushstring(L, first > last ? empty : text.subarray(first - 1, last))
  return 1
}

/** Adds so much to each byte from `first` to `last`. */
function inCase(first: number, last: number, difference: number): RawFunction {
  return (L) => {
    const bytes = new Uint8Array(textOf(L))
    for (let at = 0; at < bytes.length; at += 1) {
      const value = bytes[at] ?? 0
      if (value >= first && value <= last) bytes[at] = value + difference
    }
    pushOwned(L, bytes)
    return 1
  }
}

function rep(stringLimit: number): RawFunction {
  return (L) => {
    const text = auxiliary.luaL_checkstring(L, 1)
    const count = auxiliary.luaL_checkinteger(L, 2)
    const separator = lua.lua_isnoneornil(L, 3) ? empty : auxiliary.luaL_checkstring(L, 3)
    if (count <= 0) {
      lua.lua_pushstring(L, empty)
      return 1
    }
    const piece = text.length + separator.length
    const length = text.length * count + separator.length * (count - 1)
    if (length > stringLimit) throw new StringTooLong(stringLimit)
    const unit = new Uint8Array(piece)
    unit.set(text)
    unit.set(separator, text.length)
    const result = new Uint8Array(length)
    if (piece > 0) Buffer.from(result.buffer).fill(unit)
    pushOwned(L, result)
    return 1
  }
}
