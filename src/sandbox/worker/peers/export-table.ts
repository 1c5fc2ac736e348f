import { instanceHandle } from '../../../schema/worker/plugin-call-limits.ts'
import type { LuaFunction, LuaTable } from '../lua/lua-value.ts'

/** Functions and tables of one plugin that other plugins may hold at one time. */
const exportLimit = 50_000

type Thing = LuaTable | LuaFunction

/** Functions and tables of this plugin that other plugins hold, by handle. Each stays until the host says that nobody holds it any more. */
export interface ExportTable {
  /**
   * The number of a thing, which is new when nobody holds it yet. `given`: handed over to be called, not in answer to a
   * call. Throws when there are too many.
   */
  handleOf(thing: Thing, given: boolean): number
  /** Whether the plugin has handed it over by itself: who calls it does what the plugin wanted. */
  isGiven(handle: number): boolean
  /** These are on their way, once for each time that they are named. */
  sent(handles: readonly number[]): void
  /** These will not be sent after all. */
  unsent(handles: readonly number[]): void
  /** Nobody holds it any more of those who were sent it so many times. */
  drop(handle: number, sent: number): void
  find(handle: number): Thing | undefined
  /** Whether it is the instance, or something that others hold. */
  has(thing: Thing): boolean
  count(): number
  clear(): void
}

export function createExportTable(instance: () => LuaTable | undefined): ExportTable {
  const things = new Map<number, { thing: Thing; sent: number; given: boolean }>()
  const handles = new Map<Thing, number>()
  let lastHandle = instanceHandle

  function forget(handle: number, sent: number): void {
    const entry = things.get(handle)
    if (entry === undefined) return
    entry.sent -= sent
    // What is on its way again, and unknown to the host yet, stays.
    if (entry.sent > 0) return
    things.delete(handle)
    handles.delete(entry.thing)
  }

  return {
    handleOf(thing, given) {
      if (thing === instance()) return instanceHandle
      const known = handles.get(thing)
      const entry = known === undefined ? undefined : things.get(known)
      if (known !== undefined && entry !== undefined) {
        entry.given ||= given
        return known
      }
      if (things.size >= exportLimit) {
        throw new Error(`other plugins hold too many functions and tables of this one: ${exportLimit}`)
      }
      lastHandle += 1
      things.set(lastHandle, { thing, sent: 0, given })
      handles.set(thing, lastHandle)
      return lastHandle
    },
    sent(given) {
      for (const handle of given) {
        const entry = things.get(handle)
        if (entry !== undefined) entry.sent += 1
      }
    },
    unsent(given) {
      for (const handle of given) forget(handle, 0)
    },
    isGiven: (handle) => things.get(handle)?.given === true,
    drop: forget,
    find: (handle) => (handle === instanceHandle ? instance() : things.get(handle)?.thing),
    has: (thing) => handles.has(thing) || thing === instance(),
    count: () => things.size,
    clear() {
      things.clear()
      handles.clear()
    },
  }
}
