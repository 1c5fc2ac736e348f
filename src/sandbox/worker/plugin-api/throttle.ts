import type { Clock, ScheduledCall } from '../../../base/time/clock.ts'

/** Values that one window collects before it sends them early. */
const collectionLimit = 10_000

/**
 * Holds events back (plugin API, section 6). A window belongs to a name; what comes while it is open is
 * held back. `T` is what goes out.
 */
export interface Throttle<T> {
  /**
   * Sends at once when the window is closed, and opens it for so many milliseconds. `trailing`: the last one
   * that was held back goes out when the window closes, and opens the next. True when it was sent now.
   */
  offer(window: string, milliseconds: number, trailing: boolean, item: T): boolean
  /** Adds a value to the window's collection; `make` turns it into one item when the window closes. */
  collect<V>(window: string, milliseconds: number, value: V, make: (values: V[]) => T): void
  /** Open windows. */
  count(): number
  /** Closes all windows; what was held back is dropped. */
  clear(): void
}

interface Window<T> {
  timer: ScheduledCall
  /** What goes out when the window closes. */
  held: { item: T; milliseconds: number } | undefined
}

interface Collection {
  timer: ScheduledCall
  add(value: unknown): void
}

/** `room`: for how many windows at one time; each key of each event has one. */
export function createThrottle<T>(
  clock: Clock,
  send: (item: T) => void,
  room: { most: number; hasRoom(count: number): boolean },
): Throttle<T> {
  const windows = new Map<string, Window<T>>()
  const collections = new Map<string, Collection>()

  function assertRoom(): void {
    if (room.hasRoom(windows.size + collections.size)) return
    throw new Error(`too many throttle keys: at most ${room.most} windows may be open at one time`)
  }

  function open(name: string, milliseconds: number): void {
    const window: Window<T> = {
      held: undefined,
      timer: clock.schedule(milliseconds, () => {
        windows.delete(name)
        const { held } = window
        if (held === undefined) return
        open(name, held.milliseconds)
        send(held.item)
      }),
    }
    windows.set(name, window)
  }

  return {
    offer(name, milliseconds, trailing, item) {
      const window = windows.get(name)
      if (window !== undefined) {
        if (trailing) window.held = { item, milliseconds }
        return false
      }
      assertRoom()
      open(name, milliseconds)
      send(item)
      return true
    },
    collect<V>(name: string, milliseconds: number, value: V, make: (values: V[]) => T) {
      const present = collections.get(name)
      if (present !== undefined) {
        present.add(value)
        return
      }
      assertRoom()
      let values: V[] = [value]
      const flush = (): void => {
        const collected = values
        values = []
        if (collected.length > 0) send(make(collected))
      }
      collections.set(name, {
        add(next) {
          values.push(next as V)
          if (values.length >= collectionLimit) flush()
        },
        timer: clock.schedule(milliseconds, () => {
          collections.delete(name)
          flush()
        }),
      })
    },
    count: () => windows.size + collections.size,
    clear() {
      for (const { timer } of [...windows.values(), ...collections.values()]) timer.cancel()
      windows.clear()
      collections.clear()
    },
  }
}
