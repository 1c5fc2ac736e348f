import type { Cause } from '../../bus/bus.ts'

/** What follows in this host from the messages and events of one plugin, so that it can be told and charged. */
export interface FanOut {
  readonly cause: Cause
  /** An event has reached one more listener. */
  reached(): void
  /** Deliveries since this was asked last. */
  take(): number
}

/** `plugin`: its full id. */
export function createFanOut(plugin: string): FanOut {
  let caused = 0
  const reached = (): void => {
    caused += 1
  }
  return {
    reached,
    cause: { plugin, reached },
    take() {
      const taken = caused
      caused = 0
      return taken
    },
  }
}
