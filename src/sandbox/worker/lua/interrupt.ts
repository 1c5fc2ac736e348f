import { toBytes } from './bytes.ts'
import { auxiliary, calls, lua } from './engine.ts'
import type { LuaState } from './fengari-types.ts'

/** Instructions between two questions whether to go on: about a millisecond of Lua. */
const instructionsPerCheck = 10_000

export interface Interrupt {
  /** Sets the count hook; threads made from this one inherit it. */
  install(L: LuaState): void
  /** Asks from within a long library function, and raises when Lua has to stop. */
  poll(L: LuaState): void
  /** Raises again what has not been carried to the outermost entry yet. */
  rethrow(L: LuaState): void
  /** Entries from JavaScript into Lua, one within the other; the outermost one's end forgets the interrupt. */
  enter(): void
  leave(): void
}

/**
 * An interrupt passes every `pcall`: the wrappers around the protecting functions raise it again, and so does
 * each following check. `onRaise` sees the stack before it is unwound.
 */
export function createInterrupt(check: () => string | undefined, onRaise: (L: LuaState) => void): Interrupt {
  let pending: string | undefined
  let depth = 0

  // Not `lua_error`: that would first run a message handler of the plugin's, with the hook switched off.
  function raise(L: LuaState, message: string, level: number): never {
    auxiliary.luaL_where(L, level)
    lua.lua_pushstring(L, toBytes(message))
    lua.lua_concat(L, 2)
    return calls.luaD_throw(L, lua.LUA_ERRRUN)
  }

  function ask(L: LuaState, level: number): void {
    if (pending === undefined) {
      pending = check()
      if (pending === undefined) return
      onRaise(L)
    }
    raise(L, pending, level)
  }

  return {
    install(L) {
      lua.lua_sethook(L, (state) => ask(state, 0), lua.LUA_MASKCOUNT, instructionsPerCheck)
    },
    poll: (L) => ask(L, 1),
    rethrow(L) {
      if (pending !== undefined) raise(L, pending, 1)
    },
    enter() {
      depth += 1
    },
    leave() {
      depth -= 1
      if (depth === 0) pending = undefined
    },
  }
}
