import { toBytes } from './text/bytes.ts'
import { auxiliary, lua, objects, rawSet, strings, tags } from './engine/engine.ts'
import type { LuaState, RawFunction, RawTable, TaggedValue } from './engine/fengari-types.ts'
import { sharedName } from './shared-strings.ts'
import { tellTooLong, tooLong } from './string-limit.ts'

/** A fault of the caller in Lua, thrown by code that knows nothing of a Lua state. */
export class LuaFailure extends Error {
  override readonly name = 'LuaFailure'
}

/** A string of more than `limit` bytes would come of it. */
export class StringTooLong extends LuaFailure {
  constructor(limit: number) {
    super(tooLong(limit))
  }
}

/** Raises an error with the position of the Lua code that runs, or that called the running function. */
export function raise(L: LuaState, message: string): never {
  auxiliary.luaL_where(L, 1)
  lua.lua_pushstring(L, toBytes(message))
  lua.lua_concat(L, 2)
  return lua.lua_error(L)
}

/** Makes Lua errors of the `LuaFailure`s of a function. */
export function guarded(implementation: RawFunction): RawFunction {
  return (L) => {
    try {
      return implementation(L)
    } catch (error) {
      if (error instanceof StringTooLong) tellTooLong(L)
      if (error instanceof LuaFailure) return raise(L, error.message)
      throw error
    }
  }
}

/** Sets a field of the table at the top of the stack. */
function setField(L: LuaState, name: string, value: TaggedValue): void {
  rawSet(L, L.stack[L.top - 1]?.value as RawTable, sharedName(name), value)
}

/** Puts guarded functions into the table at the top of the stack. */
export function setFunctions(L: LuaState, functions: Record<string, RawFunction>): void {
  for (const [name, implementation] of Object.entries(functions))
    setField(L, name, new objects.TValue(tags.jsFunction, guarded(implementation)))
}

/** Pushes a string that nobody else will write to, without a copy. */
export function pushOwned(L: LuaState, bytes: Uint8Array): void {
  const text = strings.luaS_bless(L, bytes)
  lua.lua_pushnil(L)
  const top = L.stack[L.top - 1]
  if (top === undefined) return
  top.type = tags.string
  top.value = text
}

/** Takes fields out of the table at the top of the stack. */
export function removeFields(L: LuaState, names: readonly string[]): void {
  for (const name of names) setField(L, name, new objects.TValue(tags.nil, null))
}
