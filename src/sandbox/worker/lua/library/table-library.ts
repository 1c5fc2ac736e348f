import { createByteBuilder } from '../byte-builder.ts'
import { toUnicode } from '../bytes.ts'
import { auxiliary, basicType, lua, tags } from '../engine.ts'
import type { LuaState, RawTable } from '../fengari-types.ts'
import { LuaFailure, setFunctions } from '../raw-function.ts'
import { stepwise } from '../raw-steps.ts'
import type { LibraryContext } from './libraries.ts'
import { sort } from './sort.ts'

export function changeTable(L: LuaState, context: LibraryContext): void {
  setFunctions(L, {
    concat: (state) => concat(state, context),
    maxn,
    sort: stepwise(context.preemption, sort),
  })
}

const empty = new Uint8Array()

/** fengari's own would first build the string and then look at its length. */
function concat(L: LuaState, { stringLimit }: LibraryContext): number {
  if (lua.lua_type(L, 1) !== lua.LUA_TTABLE) auxiliary.luaL_checktype(L, 1, lua.LUA_TTABLE)
  const separator = lua.lua_isnoneornil(L, 2) ? empty : auxiliary.luaL_checkstring(L, 2)
  const first = auxiliary.luaL_optinteger(L, 3, 1)
  const last = lua.lua_isnoneornil(L, 4) ? auxiliary.luaL_len(L, 1) : auxiliary.luaL_checkinteger(L, 4)
  const builder = createByteBuilder(stringLimit)
  for (let index = first; index <= last; index += 1) {
    lua.lua_geti(L, 1, index)
    if (!lua.lua_isstring(L, -1)) {
      const kind = toUnicode(auxiliary.luaL_typename(L, -1))
      throw new LuaFailure(`invalid value (${kind}) at index ${index} in table for 'concat'`)
    }
    builder.add(lua.lua_tostring(L, -1) ?? empty)
    if (index < last) builder.add(separator)
    lua.lua_pop(L, 1)
  }
  lua.lua_pushstring(L, builder.take())
  return 1
}

/** The largest positive numerical key, or 0. */
function maxn(L: LuaState): number {
  auxiliary.luaL_checktype(L, 1, lua.LUA_TTABLE)
  const table = L.stack[L.top - lua.lua_gettop(L)]?.value as RawTable
  let largest = 0
  for (let entry = table.f; entry !== undefined; entry = entry.n) {
    if (basicType(entry.key.type) === tags.number) largest = Math.max(largest, entry.key.value as number)
  }
  lua.lua_pushnumber(L, largest)
  return 1
}
