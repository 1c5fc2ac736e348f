import type { LuaFunction, LuaRuntime, LuaValue } from './lua/lua-value.ts'
import type { FunctionOwner, Peers } from './peers/peers.ts'
import type { PluginLog } from './plugin-log.ts'
import type { TimeBudget } from './time-budget.ts'

/** The way from the host into Lua: always with a time budget, and never with an error that escapes. */
export interface LuaEntry {
  /**
   * Calls a callback; what it raises is logged as a failure of `what`. A function of another plugin is called there,
   * in order with the others of that plugin, and nobody here waits for it.
   */
  call(what: string, callee: LuaFunction, ...args: LuaValue[]): void
  /** Calls it now, and throws the `LuaError`. */
  attempt(callee: LuaFunction, ...args: LuaValue[]): LuaValue[]
  /** The same for a call of another plugin, which may come while this one waits: it has time of its own. */
  serve(callee: LuaFunction, ...args: LuaValue[]): LuaValue[]
  /** Logs that it failed, with the name of the other plugin that it belongs to. */
  failed(what: string, callee: LuaFunction, error: unknown): void
}

export interface LuaEntrySettings {
  runtime: LuaRuntime
  budget: TimeBudget
  /** Milliseconds for one callback. */
  milliseconds: number
  log: PluginLog
  callLater: Peers['callLater']
  /** The other plugin that a function belongs to. */
  ownerOf(callee: LuaFunction): FunctionOwner | undefined
  /** Called when Lua has been left. */
  left(): void
}

export function createLuaEntry(settings: LuaEntrySettings): LuaEntry {
  const { runtime, budget, milliseconds, log, callLater, ownerOf, left } = settings
  function attempt(callee: LuaFunction, ...args: LuaValue[]): LuaValue[] {
    try {
      return budget.run(milliseconds, () => runtime.call(callee, ...args))
    } finally {
      left()
    }
  }
  function failed(what: string, callee: LuaFunction, error: unknown): void {
    const owner = ownerOf(callee)
    // That it fails then is no news.
    if (owner?.gone === true) log.write('debug', `${what}: the plugin that it belongs to is not running`)
    else log.failure(what, error, owner?.plugin)
  }
  return {
    attempt,
    failed,
    serve(callee, ...args) {
      try {
        return runtime.apart(() => budget.apart(milliseconds, () => runtime.call(callee, ...args)))
      } finally {
        left()
      }
    },
    call(what, callee, ...args) {
      // What is written in Lua is this plugin's own.
      const isElsewhere =
        callee.native &&
        callLater(callee, args, (error) => {
          if (error !== undefined) failed(what, callee, error)
        })
      if (isElsewhere) return
      try {
        attempt(callee, ...args)
      } catch (error) {
        failed(what, callee, error)
      }
    },
  }
}
