import { fromLatin1, toBytes, toLatin1, toUnicode } from '../text/bytes.ts'
import { auxiliary, countFailedCall, libraries, lua, states } from '../engine/engine.ts'
import { replaceException } from '../error-value.ts'
import type { LuaState, RawFunction } from '../engine/fengari-types.ts'
import { readInteger, readNumeral } from '../text/number-text.ts'
import { removeFields } from '../raw-function.ts'
import type { LibraryContext } from './libraries.ts'

/** Ways to code that the manifest does not list, past metatables, or to the collector that fengari lacks. */
const absent = ['collectgarbage', 'dofile', 'load', 'loadfile', 'rawget', 'rawset']

/** After `openTable`. */
export function openBase(L: LuaState): number {
  libraries.luaopen_base(L)
  removeFields(L, absent)
  // The 5.1 name.
  lua.lua_getfield(L, -1, toBytes('table'))
  lua.lua_getfield(L, -1, toBytes('unpack'))
  lua.lua_setfield(L, -3, toBytes('unpack'))
  lua.lua_pop(L, 1)
  return 1
}

export function baseFunctions(context: LibraryContext): Record<string, RawFunction> {
  return { print: print(context), tonumber, ...protectedCalls(context) }
}

function print(context: LibraryContext): RawFunction {
  return (L) => {
    const pieces: string[] = []
    const count = lua.lua_gettop(L)
    for (let index = 1; index <= count; index += 1) {
      pieces.push(toUnicode(auxiliary.luaL_tolstring(L, index)))
      lua.lua_pop(L, 1)
    }
    context.print(pieces.join('\t'))
    return 0
  }
}

function tonumber(L: LuaState): number {
  const value = lua.lua_isnoneornil(L, 2) ? plainNumber(L) : numberOfBase(L)
  if (value === undefined) lua.lua_pushnil(L)
  else lua.lua_pushnumber(L, value)
  return 1
}

function plainNumber(L: LuaState): number | undefined {
  auxiliary.luaL_checkany(L, 1)
  if (lua.lua_type(L, 1) === lua.LUA_TNUMBER) return auxiliary.luaL_checknumber(L, 1)
  if (lua.lua_type(L, 1) !== lua.LUA_TSTRING) return undefined
  return readNumeral(toLatin1(auxiliary.luaL_checkstring(L, 1)))
}

function numberOfBase(L: LuaState): number | undefined {
  const base = auxiliary.luaL_checkinteger(L, 2)
  auxiliary.luaL_checktype(L, 1, lua.LUA_TSTRING)
  if (base < 2 || base > 36) auxiliary.luaL_argerror(L, 2, fromLatin1('base out of range'))
  return readInteger(toLatin1(auxiliary.luaL_checkstring(L, 1)), base)
}

/** `pcall` and `xpcall` that an interrupt passes, and that never hand a JavaScript exception to Lua. */
function protectedCalls({ interrupt, threads }: LibraryContext): Record<string, RawFunction> {
  const finish = (L: LuaState, status: number, extra: number): number => {
    if (status === lua.LUA_OK || status === lua.LUA_YIELD) return lua.lua_gettop(L) - extra
    interrupt.rethrow(L)
    countFailedCall(L)
    threads.caught()
    replaceException(L)
    lua.lua_pushboolean(L, false)
    lua.lua_pushvalue(L, -2)
    return 2
  }
  // fengari forgets that hooks were allowed when it recovers from an error, and nothing could stop the thread any more.
  const keepHooks = (L: LuaState): void => {
    L.ci.callstatus |= states.CIST_OAH
  }
  return {
    pcall(L) {
      keepHooks(L)
      auxiliary.luaL_checkany(L, 1)
      lua.lua_pushboolean(L, true)
      lua.lua_insert(L, 1)
      const status = lua.lua_pcallk(L, lua.lua_gettop(L) - 2, lua.LUA_MULTRET, 0, 0, finish)
      return finish(L, status, 0)
    },
    // The stack becomes: function, handler, true, function, arguments; the first two are no results.
    xpcall(L) {
      keepHooks(L)
      const count = lua.lua_gettop(L)
      auxiliary.luaL_checktype(L, 2, lua.LUA_TFUNCTION)
      lua.lua_pushboolean(L, true)
      lua.lua_pushvalue(L, 1)
      lua.lua_rotate(L, 3, 2)
      const status = lua.lua_pcallk(L, count - 2, lua.LUA_MULTRET, 2, 2, finish)
      return finish(L, status, 2)
    },
  }
}
