import { lua } from './engine/engine.ts'
import type { Continuation, LuaState } from './engine/fengari-types.ts'
import type { Waiting } from './steps.ts'

/** Why a thread was suspended: its slice is over and others have their turn, or it waits for this answer. */
export type SuspendReason = 'slice' | Waiting

/**
 * Suspends a running Lua thread in the midst of whatever it does, and with it the threads that have resumed it. A
 * thread cannot be suspended while a JavaScript function that has called it is on the stack, and does not know how to
 * go on later.
 */
export interface Preemption {
  /** Whether the slice is over, and this thread can be suspended. */
  due(L: LuaState): boolean
  /** Whether this thread can be suspended. */
  canSuspend(L: LuaState): boolean
  /** From a count hook, when `due`. */
  suspend(L: LuaState): void
  /** From a function that Lua has called, when `possible`; `proceed` goes on in its place later. */
  suspendFor(L: LuaState, reason: SuspendReason, proceed: Continuation): never
  /** From the function that resumes coroutines, whose coroutine has been suspended: suspends the thread around it as well. */
  propagate(L: LuaState, proceed: Continuation): never
  /** Whether a thread that has just yielded was suspended, and did not yield by itself. */
  readonly pending: boolean
  /** At the outermost thread: why it was suspended. */
  take(): SuspendReason | undefined
  /** Runs `task`, out of which no thread can be suspended. */
  hold<T>(task: () => T): T
}

/** `isOver`: whether the present slice is. */
export function createPreemption(isOver: () => boolean): Preemption {
  let held = 0
  let pending: SuspendReason | undefined

  const possible = (L: LuaState): boolean => held === 0 && lua.lua_isyieldable(L)

  return {
    canSuspend: possible,
    due: (L) => isOver() && possible(L),
    suspend(L) {
      pending = 'slice'
      lua.lua_yield(L, 0)
    },
    suspendFor(L, reason, proceed) {
      pending = reason
      return lua.lua_yieldk(L, 0, 0, proceed)
    },
    propagate: (L, proceed) => lua.lua_yieldk(L, 0, 0, proceed),
    get pending() {
      return pending !== undefined
    },
    take() {
      const reason = pending
      pending = undefined
      return reason
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
