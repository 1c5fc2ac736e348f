import { messageOf } from '../../../base/problem.ts'
import { toBytes, toUnicode } from './text/bytes.ts'
import { auxiliary, lua } from './engine/engine.ts'
import type { LuaState } from './engine/fengari-types.ts'

/** The message of a JavaScript exception, as Lua code gets to see it. */
export function exceptionText(error: unknown): string {
  if (error instanceof RangeError) {
    if (error.message.includes('call stack')) return 'stack overflow'
    if (error.message.includes('allocation failed')) return 'not enough memory'
  }
  try {
    return messageOf(error)
  } catch {
    return 'an error without a message'
  }
}

/** Puts a string in place of a JavaScript exception at the top of the stack: Lua never holds one. */
export function replaceException(L: LuaState): void {
  if (lua.lua_type(L, -1) !== lua.LUA_TLIGHTUSERDATA) return
  const text = exceptionText(lua.lua_touserdata(L, -1))
  lua.lua_pop(L, 1)
  lua.lua_pushstring(L, toBytes(text))
}

/**
 * `tostring` of the value at the top of the stack, protected, or `undefined` when its `__tostring` fails.
 * Leaves the stack as it was.
 */
export function protectedText(L: LuaState): string | undefined {
  const top = lua.lua_gettop(L)
  lua.lua_pushcfunction(L, (state) => {
    auxiliary.luaL_tolstring(state, 1)
    return 1
  })
  lua.lua_pushvalue(L, -2)
  const status = lua.lua_pcall(L, 1, 1, 0)
  const bytes = status === lua.LUA_OK ? lua.lua_tostring(L, -1) : null
  lua.lua_settop(L, top)
  return bytes === null ? undefined : toUnicode(bytes)
}

const speechless = (type: string): string => `(error object is a ${type} value)`
/** What is read of a table that has no text of its own. */
export const unprintableTable = speechless('table')

/** What a person reads of the error value at the top of the stack. */
export function errorText(L: LuaState): string {
  replaceException(L)
  const type = lua.lua_type(L, -1)
  const speaks =
    type === lua.LUA_TSTRING ||
    type === lua.LUA_TNUMBER ||
    auxiliary.luaL_getmetafield(L, -1, toBytes('__tostring')) !== lua.LUA_TNIL
  if (speaks && type !== lua.LUA_TSTRING && type !== lua.LUA_TNUMBER) lua.lua_pop(L, 1)
  const text = speaks ? protectedText(L) : undefined
  return text ?? speechless(toUnicode(auxiliary.luaL_typename(L, -1)))
}

/** Called by fengari with an exception that no wrapper caught; answers what Lua sees of it. */
export function describeException(L: LuaState): number {
  replaceException(L)
  return 1
}
