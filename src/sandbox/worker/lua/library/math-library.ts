import { fromLatin1, toBytes } from '../text/bytes.ts'
import { auxiliary, libraries, lua } from '../engine/engine.ts'
import type { LuaState, RawFunction } from '../engine/fengari-types.ts'
import { joinFloat, splitFloat } from '../text/float-parts.ts'
import { isLuaInteger } from '../text/number-text.ts'
import { LuaFailure, setFunctions } from '../raw-function.ts'

/** fengari's library, but for results beyond 32 bits, and with the 5.1 names. */
export function openMath(L: LuaState): number {
  libraries.luaopen_math(L)
  setFunctions(L, { type: mathType, tointeger, pow, log10, frexp, ldexp })
  setNumber(L, 'maxinteger', Number.MAX_SAFE_INTEGER)
  setNumber(L, 'mininteger', Number.MIN_SAFE_INTEGER)
  return 1
}

function setNumber(L: LuaState, name: string, value: number): void {
  lua.lua_pushnumber(L, value)
  lua.lua_setfield(L, -2, toBytes(name))
}

/** Numbers from 0 up to 1 that a seed determines (mulberry32, twice for 53 bits). */
function seeded(seed: number): () => number {
  let state = seed | 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
  return () => ((next() >>> 5) * 2 ** 26 + (next() >>> 6)) / 2 ** 53
}

/** Each state has its own; not seeded, it is the platform's. */
export function randomFunctions(): Record<string, RawFunction> {
  let draw: () => number = Math.random
  return {
    random(L) {
      const count = lua.lua_gettop(L)
      if (count > 2) throw new LuaFailure('wrong number of arguments')
      if (count === 0) {
        lua.lua_pushnumber(L, draw())
        return 1
      }
      const low = count === 1 ? 1 : auxiliary.luaL_checkinteger(L, 1)
      const high = auxiliary.luaL_checkinteger(L, count)
      if (low > high) auxiliary.luaL_argerror(L, count, fromLatin1('interval is empty'))
      lua.lua_pushnumber(L, Math.min(high, low + Math.floor(draw() * (high - low + 1))))
      return 1
    },
    randomseed(L) {
      draw = seeded(auxiliary.luaL_checknumber(L, 1))
      return 0
    },
  }
}

function mathType(L: LuaState): number {
  auxiliary.luaL_checkany(L, 1)
  const value = lua.lua_type(L, 1) === lua.LUA_TNUMBER ? auxiliary.luaL_checknumber(L, 1) : undefined
  if (value === undefined) lua.lua_pushnil(L)
  else lua.lua_pushstring(L, fromLatin1(isLuaInteger(value) ? 'integer' : 'float'))
  return 1
}

function tointeger(L: LuaState): number {
  auxiliary.luaL_checkany(L, 1)
  const value = lua.lua_tonumberx(L, 1)
  if (value !== false && isLuaInteger(value)) lua.lua_pushnumber(L, value)
  else lua.lua_pushnil(L)
  return 1
}

function pow(L: LuaState): number {
  lua.lua_pushnumber(L, auxiliary.luaL_checknumber(L, 1) ** auxiliary.luaL_checknumber(L, 2))
  return 1
}

function log10(L: LuaState): number {
  lua.lua_pushnumber(L, Math.log10(auxiliary.luaL_checknumber(L, 1)))
  return 1
}

function frexp(L: LuaState): number {
  const [fraction, exponent] = splitFloat(auxiliary.luaL_checknumber(L, 1))
  lua.lua_pushnumber(L, fraction)
  lua.lua_pushnumber(L, exponent)
  return 2
}

function ldexp(L: LuaState): number {
  const value = auxiliary.luaL_checknumber(L, 1)
  lua.lua_pushnumber(L, joinFloat(value, auxiliary.luaL_checkinteger(L, 2)))
  return 1
}
