import type { Json } from '../../../base/text/json.ts'
import { approximateSize } from '../../../base/text/json-size.ts'
import type { LuaFunction } from '../lua/lua-value.ts'
import type { PluginContext } from '../plugin-context.ts'
import { countLimitFor, type ForeignCaller } from '../limits/foreign-callers.ts'

/** Bytes of one event or object, roughly: what is larger does not belong on a bus. */
export const messageSizeLimit = 1024 * 1024

export function assertMessageSize(data: Json | undefined): void {
  const size = approximateSize(data)
  if (size <= messageSizeLimit) return
  throw new Error(`the value is too large: about ${size} of at most ${messageSizeLimit} bytes`)
}

/**
 * What Lua gets for a callback: a function that takes it back. It is taken back, too, when the plugin that it belongs to has
 * ended. `remove`: may be called more than once.
 */
export function createUnsubscribe(
  { peers, runtime }: Pick<PluginContext, 'peers' | 'runtime'>,
  what: string,
  callback: LuaFunction,
  remove: () => void,
): LuaFunction {
  const forget = peers.whenGone(what, callback, remove)
  return runtime.wrap('unsubscribe', () => {
    forget?.()
    remove()
  })
}

/** Callbacks by name, in the order in which they were added. */
export interface Listeners {
  /** `first`: there was none of this name before. `remove` is true when none is left, and false if done before. */
  add(
    name: string,
    callback: LuaFunction,
    foreignCaller?: ForeignCaller,
  ): { first: boolean; remove(): boolean }
  /** Those that were there when the round began, without what is removed on the way. */
  each(name: string): Iterable<LuaFunction>
  count(): number
  /** Removes all; answers the names that had some. */
  clear(): string[]
}

/** `hasRoom`: whether there may be one more than so many. */
export function createListeners(
  limit: number,
  hasRoom: (count: number, foreignCaller?: ForeignCaller) => boolean = (count, foreignCaller) =>
    count < countLimitFor(foreignCaller, limit),
): Listeners {
  const byName = new Map<string, Set<{ callback: LuaFunction }>>()
  let total = 0
  return {
    add(name, callback, foreignCaller) {
      if (!hasRoom(total, foreignCaller))
        throw new Error(`too many listeners: a plugin may have ${limit} at one time`)
      const present = byName.get(name)
      const group = present ?? new Set()
      const listener = { callback }
      group.add(listener)
      byName.set(name, group)
      total += 1
      return {
        first: present === undefined,
        remove() {
          if (byName.get(name) !== group || !group.delete(listener)) return false
          total -= 1
          if (group.size > 0) return false
          byName.delete(name)
          return true
        },
      }
    },
    *each(name) {
      const group = byName.get(name)
      for (const listener of [...(group ?? [])]) {
        if (byName.get(name) === group && group?.has(listener)) yield listener.callback
      }
    },
    count: () => total,
    clear() {
      const names = [...byName.keys()]
      byName.clear()
      total = 0
      return names
    },
  }
}
