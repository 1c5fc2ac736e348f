import type { Cause } from '../bus/bus.ts'

/** What follows in this host from the messages and events of one plugin, so that it can be told and charged. */
export interface FanOut {
  readonly cause: Cause
  /** An event has reached one more listener. */
  reached(): void
  /** Deliveries since this was asked last. */
  take(): number
  /** Resolves when what it has caused so far has been handled. */
  settled(): Promise<void>
}

/** `plugin`: its full id. */
export function createFanOut(plugin: string): FanOut {
  let caused = 0
  let waiting = 0
  let waiters: (() => void)[] = []
  const reached = (): void => {
    caused += 1
  }
  return {
    reached,
    cause: {
      plugin,
      reached,
      waits() {
        waiting += 1
      },
      settled() {
        waiting -= 1
        if (waiting > 0) return
        const resolved = waiters
        waiters = []
        for (const resolve of resolved) resolve()
      },
    },
    take() {
      const taken = caused
      caused = 0
      return taken
    },
    settled: () => (waiting === 0 ? Promise.resolve() : new Promise((resolve) => waiters.push(resolve))),
  }
}
