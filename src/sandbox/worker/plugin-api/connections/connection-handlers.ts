import type { LuaFunction, LuaValue } from '../../lua/lua-value.ts'
import type { PluginContext } from '../../plugin-context.ts'

/** The functions of Lua that hear of one connection, by the names of what they hear. */
export interface ConnectionHandlers {
  /** Takes the place of the one before; undefined: there is none any more. */
  set(name: string, run: LuaFunction | undefined): void
  has(name: string): boolean
  /** Calls it, in its turn. */
  tell(name: string, ...args: LuaValue[]): void
  /** None is called any more, and none can be added. */
  close(): void
}

/** `method`: of the plugin, for log lines. */
export function createConnectionHandlers(
  { entry, peers }: PluginContext,
  method: string,
): ConnectionHandlers {
  const handlers = new Map<string, { run: LuaFunction; forget: (() => void) | undefined }>()
  let closed = false

  function set(name: string, run: LuaFunction | undefined): void {
    handlers.get(name)?.forget?.()
    handlers.delete(name)
    if (run === undefined || closed) return
    const forget = peers.whenGone(`${name} of ${method}`, run, () => handlers.delete(name))
    handlers.set(name, { run, forget })
  }

  function tell(name: string, ...args: LuaValue[]): void {
    entry.start(
      (function* () {
        // By the time that it is its turn it may have been closed.
        const run = handlers.get(name)?.run
        if (run !== undefined) yield* entry.report(`${name} of ${method}`, run, ...args)
      })(),
    )
  }

  return {
    set,
    tell,
    has: (name) => handlers.has(name),
    close() {
      closed = true
      for (const { forget } of handlers.values()) forget?.()
      handlers.clear()
    },
  }
}
