import type { LuaFunction, LuaRuntime, LuaValue } from './lua/lua-value.ts'
import type { PluginLog } from './plugin-log.ts'
import type { TimeBudget } from './time-budget.ts'

/** The way from the host into Lua: always with a time budget, and never with an error that escapes. */
export interface LuaEntry {
  /** Calls a callback. What it raises is logged as a failure of `what`, and the answer is undefined. */
  call(what: string, callee: LuaFunction, ...args: LuaValue[]): LuaValue[] | undefined
  /** The same, but throws the `LuaError`. */
  attempt(callee: LuaFunction, ...args: LuaValue[]): LuaValue[]
}

export interface LuaEntrySettings {
  runtime: LuaRuntime
  budget: TimeBudget
  /** Milliseconds for one callback. */
  milliseconds: number
  log: PluginLog
  /** Called when Lua has been left. */
  left(): void
}

export function createLuaEntry({ runtime, budget, milliseconds, log, left }: LuaEntrySettings): LuaEntry {
  function attempt(callee: LuaFunction, ...args: LuaValue[]): LuaValue[] {
    try {
      return budget.run(milliseconds, () => runtime.call(callee, ...args))
    } finally {
      left()
    }
  }
  return {
    attempt,
    call(what, callee, ...args) {
      try {
        return attempt(callee, ...args)
      } catch (error) {
        log.failure(what, error)
        return undefined
      }
    },
  }
}
