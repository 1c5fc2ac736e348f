/** Times of the protocol of leases, in milliseconds of elapsed time. docs/fleet.md says how they hang together. */
export interface LeaseTiming {
  /** From one renewal of a session to the next. */
  readonly renewEvery: number
  /** From a write that nothing was heard of to the next try. */
  readonly retryAfter: number
  /** Since the last renewal that was taken: from here on the holder unloads its plugins. */
  readonly unloadAfter: number
  /** Since the last renewal that was taken, on the holder's clock: the session is over. */
  readonly sessionLength: number
  /** Since a record was last seen to change, on somebody else's clock: its session may be ended. */
  readonly takeOverAfter: number
  /** For the broker's answer about a plugin that goes; then the log says that it waits. */
  readonly flushPatience: number
  /**
   * Since it is known that this host does not reach the broker, while another one does: a plugin that goes does so without the broker's
   * answer. After an outage hosts come back one after another, and what is known of the others is seconds old.
   */
  readonly giveUpAfter: number
}

/** How far the rate of a clock may be off, either way. */
export const clockTolerance = 0.05

/**
 * `takeOverAfter` is more than the session may last on the slowest clock, counted by the fastest: 6 s × 1.05 / 0.95 are
 * 6.63 s. The rest is for a write that was checked just before the end.
 */
export const leaseTiming: LeaseTiming = {
  renewEvery: 2_000,
  retryAfter: 1_000,
  unloadAfter: 4_000,
  sessionLength: 6_000,
  takeOverAfter: 6_700,
  flushPatience: 2_000,
  giveUpAfter: 5_000,
}
