import { toBytes } from './bytes.ts'
import { calls, lua } from './engine.ts'
import type { LuaState } from './fengari-types.ts'
import type { Traceback } from './traceback.ts'

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
  /** Runs `task` as if it were the outermost entry, and goes on afterwards as if it had not been. */
  apart<T>(task: () => T): T
}

/**
 * An interrupt passes every `pcall`: the wrappers around the protecting functions raise it again, and so does
 * each following check. `onRaise` sees the stack before it is unwound.
 */
export function createInterrupt(
  check: () => string | undefined,
  onRaise: (L: LuaState) => Traceback,
): Interrupt {
  /** The message with the position where Lua was first interrupted. */
  let pending: Uint8Array | undefined
  let depth = 0

  // Not `lua_error`: that would first run a message handler of the plugin's, with the hook switched off.
  function raise(L: LuaState, message: Uint8Array): never {
    lua.lua_pushstring(L, message)
    return calls.luaD_throw(L, lua.LUA_ERRRUN)
  }

  function ask(L: LuaState): void {
    if (pending !== undefined) raise(L, pending)
    const message = check()
    if (message === undefined) return
    const { file, line } = onRaise(L)
    pending = toBytes(file === undefined ? message : `${file}:${line}: ${message}`)
    raise(L, pending)
  }

  return {
    install(L) {
      lua.lua_sethook(L, ask, lua.LUA_MASKCOUNT, instructionsPerCheck)
    },
    poll: ask,
    rethrow(L) {
      if (pending !== undefined) raise(L, pending)
    },
    enter() {
      depth += 1
    },
    leave() {
      depth -= 1
      if (depth === 0) pending = undefined
    },
    apart(task) {
      const outer = { pending, depth }
      pending = undefined
      depth = 0
      try {
        return task()
      } finally {
        pending = outer.pending
        depth = outer.depth
      }
    },
  }
}
