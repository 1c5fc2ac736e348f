import { toBytes } from './text/bytes.ts'
import { calls, lua, mostCallsPerCheck } from './engine/engine.ts'
import type { LuaState } from './engine/fengari-types.ts'
import type { Preemption } from './preemption.ts'
import type { Traceback } from './traceback.ts'

/** Instructions between two questions whether to go on: about a millisecond of Lua. */
export const usualInstructionsPerCheck = 10_000

/** Milliseconds of the calls between two looks at the clock: with longer ones it is looked at more often. */
const longCalls = 0.25
/** Milliseconds after which to ask, where calls take so long that the instructions do not tell. */
const longestSilence = 50

/** Has the count hook ask before the next instruction: for work of which the number of instructions does not tell. */
export function checkSoon(L: LuaState): void {
  L.hookcount = 1
}

/** Entries into Lua, one within the other, and what is to end all of them. */
export interface InterruptScope {
  /** The message with the position where Lua was first interrupted. */
  pending: Uint8Array | undefined
  depth: number
}

export interface Interrupt {
  /** Sets the count hook; threads made from this one inherit it. */
  install(L: LuaState): void
  /**
   * Asks from within a long library function, and raises when Lua has to stop. When only its slice is over it goes on,
   * and is set aside at its end.
   */
  poll(L: LuaState): void
  /** Whether there is one that has not been carried to the outermost entry yet. */
  readonly pending: boolean
  /** Raises again what has not been carried to the outermost entry yet. */
  rethrow(L: LuaState): void
  /** Entries from JavaScript into Lua, one within the other; the outermost one's end forgets the interrupt. */
  enter(): void
  leave(): void
  /** Runs `task` within another scope: an interrupt in it does not reach what is on the stack below. */
  within<T>(scope: InterruptScope, task: () => T): T
}

/**
 * An interrupt passes every `pcall`: the wrappers around the protecting functions raise it again, and so does
 * each following check. `onRaise` sees the stack before it is unwound.
 */
export function createInterrupt(
  check: () => string | undefined,
  onRaise: (L: LuaState) => Traceback,
  preemption: Preemption,
  monotonic: () => number,
  instructionsPerCheck: number,
): Interrupt {
  let callsPerCheck = mostCallsPerCheck
  /** Milliseconds of the clock. */
  let looked = monotonic()
  let asked = looked
  let current: InterruptScope = { pending: undefined, depth: 0 }

  // Not `lua_error`: that would first run a message handler of the plugin's, with the hook switched off.
  function raise(L: LuaState, message: Uint8Array): never {
    lua.lua_pushstring(L, message)
    return calls.luaD_throw(L, lua.LUA_ERRRUN)
  }

  function ask(L: LuaState): void {
    if (current.pending !== undefined) raise(L, current.pending)
    const message = check()
    if (message === undefined) return
    const { file, line } = onRaise(L)
    current.pending = toBytes(file === undefined ? message : `${file}:${line}: ${message}`)
    raise(L, current.pending)
  }

  function hook(L: LuaState): void {
    ask(L)
    if (preemption.due(L)) preemption.suspend(L)
  }

  /** A few calls of the library may take as long as ten thousand instructions. */
  function afterCalls(L: LuaState): number {
    const now = monotonic()
    callsPerCheck = now - looked > longCalls ? 1 : Math.min(mostCallsPerCheck, callsPerCheck * 2)
    looked = now
    if (now - asked >= longestSilence || preemption.due(L)) {
      asked = now
      checkSoon(L)
    }
    return callsPerCheck
  }

  return {
    install(L) {
      L.l_G.afterCalls = afterCalls
      L.l_G.ask = ask
      L.l_G.pause = (state, proceed) => {
        ask(state)
        if (preemption.due(state)) preemption.suspendFor(state, 'slice', proceed)
      }
      lua.lua_sethook(L, hook, lua.LUA_MASKCOUNT, instructionsPerCheck)
    },
    poll(L) {
      ask(L)
      if (preemption.due(L)) checkSoon(L)
    },
    get pending() {
      return current.pending !== undefined
    },
    rethrow(L) {
      if (current.pending !== undefined) raise(L, current.pending)
    },
    enter() {
      current.depth += 1
    },
    leave() {
      current.depth -= 1
      if (current.depth === 0) current.pending = undefined
    },
    within(scope, task) {
      const outer = current
      current = scope
      try {
        return task()
      } finally {
        current = outer
      }
    },
  }
}
