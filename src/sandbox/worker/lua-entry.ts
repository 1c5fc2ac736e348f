import type { LuaFunction, LuaRuntime, LuaValue } from './lua/lua-value.ts'
import type { PluginLog } from './plugin-log.ts'
import type { TimeBudget } from './time-budget.ts'

/** The way from the host into Lua: always with a time budget, and never with an error that escapes. */
export interface LuaEntry {
  /** Calls a callback. What it raises is logged as a failure of `what`, and the answer is undefined. */
  call(what: string, callee: LuaFunction, ...args: LuaValue[]): LuaValue[] | undefined
  /** The same, but throws the `LuaError`. */
  attempt(callee: LuaFunction, ...args: LuaValue[]): LuaValue[]
  /** The same for a call of another plugin, which may come while this one waits: it has time of its own. */
  serve(callee: LuaFunction, ...args: LuaValue[]): LuaValue[]
}

export interface LuaEntrySettings {
  runtime: LuaRuntime
  budget: TimeBudget
  /** Milliseconds for one callback. */
  milliseconds: number
  log: PluginLog
  /** Whether a callback belongs to a plugin that has ended; that it fails then is no news. */
  gone(callee: LuaFunction): boolean
  /** Called when Lua has been left. */
  left(): void
}

export function createLuaEntry(settings: LuaEntrySettings): LuaEntry {
  const { runtime, budget, milliseconds, log, gone, left } = settings
  function attempt(callee: LuaFunction, ...args: LuaValue[]): LuaValue[] {
    try {
      return budget.run(milliseconds, () => runtime.call(callee, ...args))
    } finally {
      left()
    }
  }
  return {
    attempt,
    serve(callee, ...args) {
      try {
        return runtime.apart(() => budget.apart(milliseconds, () => runtime.call(callee, ...args)))
      } finally {
        left()
      }
    },
    call(what, callee, ...args) {
      try {
        return attempt(callee, ...args)
      } catch (error) {
        if (gone(callee)) log.write('debug', `${what}: the plugin that it belongs to is not running`)
        else log.failure(what, error)
        return undefined
      }
    },
  }
}
