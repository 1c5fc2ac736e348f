import { toBytes } from '../bytes.ts'
import { auxiliary, lua } from '../engine.ts'
import type { LuaState, RawFunction } from '../fengari-types.ts'
import { pushOwned, removeFields, setFunctions, StringTooLong } from '../raw-function.ts'
import { format } from './format.ts'
import type { LibraryContext } from './libraries.ts'
import { packFunctions } from './pack.ts'
import { patternFunctions } from './pattern-functions.ts'

export function changeString(L: LuaState, context: LibraryContext): void {
  removeFields(L, ['dump'])
  setFunctions(L, {
    format: format(context),
    rep: rep(context.stringLimit),
    ...patternFunctions(context),
    ...packFunctions(context),
  })
  // All strings share one metatable: out of reach.
  lua.lua_pushstring(L, new Uint8Array())
  lua.lua_getmetatable(L, -1)
  lua.lua_pushboolean(L, false)
  lua.lua_setfield(L, -2, toBytes('__metatable'))
  lua.lua_pop(L, 2)
}

const empty = new Uint8Array()

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
