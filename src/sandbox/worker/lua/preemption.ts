import { lua } from './engine/engine.ts'
import type { Continuation, LuaState } from './engine/fengari-types.ts'
import type { Waiting } from './steps.ts'

/** Why a call was set aside: others are to have their turn, or it waits for this answer. */
export type Aside = 'slice' | Waiting

/**
 * Sets a running Lua thread aside, in the midst of whatever it does, and with it the threads that have resumed it. A
 * thread cannot be set aside while a JavaScript function that has called it is on the stack, and does not know how to
 * go on later.
 */
export interface Preemption {
  /** Whether the slice is over, and this thread can be set aside. */
  due(L: LuaState): boolean
  /** Whether this thread can be set aside. */
  possible(L: LuaState): boolean
  /** From a count hook, when `due`. */
  setAside(L: LuaState): void
  /** From a function that Lua has called, when `possible`; `proceed` goes on in its place later. */
  setAsideFor(L: LuaState, aside: Aside, proceed: Continuation): never
  /** From the function that resumes coroutines, whose coroutine has been set aside. */
  passOn(L: LuaState, proceed: Continuation): never
  /** Whether a thread that has just yielded was set aside, and did not yield by itself. */
  readonly pending: boolean
  /** At the outermost thread: why it was set aside. */
  take(): Aside | undefined
  /** Runs `task`, out of which no thread can be set aside. */
  hold<T>(task: () => T): T
}

/** `isOver`: whether the present slice is. */
export function createPreemption(isOver: () => boolean): Preemption {
  let held = 0
  let pending: Aside | undefined

  const possible = (L: LuaState): boolean => held === 0 && lua.lua_isyieldable(L)

  return {
    possible,
    due: (L) => isOver() && possible(L),
    setAside(L) {
      pending = 'slice'
      lua.lua_yield(L, 0)
    },
    setAsideFor(L, aside, proceed) {
      pending = aside
      return lua.lua_yieldk(L, 0, 0, proceed)
    },
    passOn: (L, proceed) => lua.lua_yieldk(L, 0, 0, proceed),
    get pending() {
      return pending !== undefined
    },
    take() {
      const aside = pending
      pending = undefined
      return aside
    },
    hold(task) {
      held += 1
      try {
        return task()
      } finally {
        held -= 1
      }
    },
  }
}
