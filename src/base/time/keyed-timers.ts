import type { Clock, ScheduledCall } from './clock.ts'

/** One scheduled call for each key at most. */
export interface KeyedTimers {
  /** Takes the place of what is scheduled for the key. */
  set(key: string, milliseconds: number, callback: () => void): void
  has(key: string): boolean
  cancel(key: string): void
  cancelAll(): void
}

export function createKeyedTimers(clock: Pick<Clock, 'schedule'>): KeyedTimers {
  const timers = new Map<string, ScheduledCall>()

  function cancel(key: string): void {
    timers.get(key)?.cancel()
    timers.delete(key)
  }

  return {
    set(key, milliseconds, callback) {
      cancel(key)
      const timer = clock.schedule(milliseconds, () => {
        timers.delete(key)
        callback()
      })
      timers.set(key, timer)
    },
    has: (key) => timers.has(key),
    cancel,
    cancelAll() {
      for (const key of [...timers.keys()]) cancel(key)
    },
  }
}
