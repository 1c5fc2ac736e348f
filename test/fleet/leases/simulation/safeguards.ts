import { leaseTiming, type LeaseTiming } from '../../../../src/fleet/leases/timing.ts'

/** What keeps the law, each to be turned off: then the simulation must find a way to break it. */
export interface Safeguards {
  /** Who takes over has the broker close the connection of the session before. */
  fence: boolean
  /** Whether a plugin may act is asked before each act. */
  askBeforeActs: boolean
  /** What is sent was asked about on the connection that it goes over: nothing waits for the next connection. */
  boundToConnection: boolean
  /** A lease is given back after the broker has answered. */
  flush: boolean
  /** Records are written on top of the expected revision only. */
  compareAndSet: boolean
  /** Facts of an older epoch are not written down. */
  epochs: boolean
  /** The journal takes what was decided on top of its last entry only. */
  expectedSequence: boolean
  timing: LeaseTiming
}

export const allSafeguards: Safeguards = {
  fence: true,
  askBeforeActs: true,
  boundToConnection: true,
  flush: true,
  compareAndSet: true,
  epochs: true,
  expectedSequence: true,
  timing: leaseTiming,
}
