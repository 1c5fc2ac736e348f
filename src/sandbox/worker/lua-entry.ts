import { callLua, type Steps } from './lua/steps.ts'
import type { LuaFunction, LuaValue } from './lua/lua-value.ts'
import type { FunctionOwner, Peers } from './peers/peers.ts'
import type { PluginLog } from './plugin-log.ts'
import type { Tasks } from './scheduling/tasks.ts'

/** The way from the host into Lua: one thing after the other, and never with an error that escapes. */
export interface LuaEntry {
  /**
   * Calls a callback, now or in its turn; what it raises is logged as a failure of `what`. A function of another plugin
   * is called there, in order with the others of that plugin, and nobody here waits for it.
   */
  call(what: string, callee: LuaFunction, ...args: LuaValue[]): void
  /** The same as a part of something that goes on when it has ended. */
  report(what: string, callee: LuaFunction, ...args: LuaValue[]): Steps<void>
  /** Does this now or in its turn. */
  start(steps: Steps<void>): void
  /** Logs that it failed, with the name of the other plugin that it belongs to. */
  failed(what: string, callee: LuaFunction, error: unknown): void
}

export interface LuaEntrySettings {
  tasks: Pick<Tasks, 'start'>
  log: PluginLog
  callLater: Peers['callLater']
  /** The other plugin that a function belongs to. */
  ownerOf(callee: LuaFunction): FunctionOwner | undefined
}

export function createLuaEntry({ tasks, log, callLater, ownerOf }: LuaEntrySettings): LuaEntry {
  function failed(what: string, callee: LuaFunction, error: unknown): void {
    const owner = ownerOf(callee)
    // That it fails then is no news.
    if (owner?.gone === true) log.write('debug', `${what}: the plugin that it belongs to is not running`)
    else log.failure(what, error, owner?.plugin)
  }

  /** Whether another plugin has been asked to do it. What is written in Lua is this plugin's own. */
  function isElsewhere(what: string, callee: LuaFunction, args: readonly LuaValue[]): boolean {
    return (
      callee.native &&
      callLater(callee, args, (error) => {
        if (error !== undefined) failed(what, callee, error)
      })
    )
  }

  function* attempt(what: string, callee: LuaFunction, args: readonly LuaValue[]): Steps<void> {
    try {
      yield* callLua(callee, ...args)
    } catch (error) {
      failed(what, callee, error)
    }
  }

  return {
    failed,
    start: tasks.start,
    call(what, callee, ...args) {
      if (!isElsewhere(what, callee, args)) tasks.start(attempt(what, callee, args))
    },
    *report(what, callee, ...args) {
      if (!isElsewhere(what, callee, args)) yield* attempt(what, callee, args)
    },
  }
}
