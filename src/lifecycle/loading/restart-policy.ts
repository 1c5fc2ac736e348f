import { backOffDelay } from '../../base/time/back-off.ts'

/** When a plugin that crashed, or could not be fetched, is started again. Pure: durations in ms, randomness handed in. */

export interface RestartPolicy {
  /** The crash after which the plugin stays down, counted without a stable run between them. */
  budget: number
  /**
   * ms without a crash after which the earlier ones are forgotten, and after which an update is kept. Measured
   * by a clock that does not jump.
   */
  stableAfter: number
  /** ms before the first restart; doubles with every further crash, up to `longestDelay`. */
  firstDelay: number
  longestDelay: number
  /** Share of the delay that is added at random, so that plugins which crashed together do not return together. */
  jitter: number
}

export const defaultRestartPolicy: RestartPolicy = {
  // Four restarts get over a device that is away for a while; a plugin that is simply broken is told after that.
  budget: 5,
  // Most pollers ask every five minutes or more often: in ten, every usual part of a plugin has run.
  stableAfter: 10 * 60_000,
  firstDelay: 1_000,
  longestDelay: 60_000,
  jitter: 0.2,
}

export interface RestartDecision {
  /** Crashes without a stable run between them, the present one included. */
  crashes: number
  /** Null: the budget is spent. `delay` in ms; `attempt` counts from 1. */
  restart: { attempt: number; delay: number } | null
}

/** `crashes`: those before. `ranFor`: ms from the load to this crash. `random`: 0 up to 1. */
export function decideRestart(
  policy: RestartPolicy,
  { crashes, ranFor }: { crashes: number; ranFor: number },
  random: number,
): RestartDecision {
  const count = ranFor >= policy.stableAfter ? 1 : crashes + 1
  if (count >= policy.budget) return { crashes: count, restart: null }
  const delay = Math.min(policy.longestDelay, policy.firstDelay * 2 ** (count - 1))
  const jittered = Math.round(delay * (1 + policy.jitter * random))
  return { crashes: count, restart: { attempt: count, delay: jittered } }
}

/**
 * After a power cut the network is there minutes after the host. Each attempt stays in the history, and a repository may be away
 * for good: then it is asked four times a day.
 */
const fetchRetries = { min: 5_000, max: 6 * 60 * 60_000 }

/** When a plugin whose files are missing is tried again, as its repository could not be read. `attempt` counts from 1. */
export function fetchRetry(attempt: number): { attempt: number; delay: number } {
  return { attempt, delay: backOffDelay(fetchRetries, attempt - 1, 0) }
}
