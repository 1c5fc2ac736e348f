/** When a plugin that crashed is started again. Pure: times in ms, randomness handed in. */

export interface RestartPolicy {
  /** Crashes within `window` after which the plugin stays down. */
  budget: number
  /** ms; a crash that is longer ago does not count any more. */
  window: number
  /** ms before the first restart; doubles with every further crash, up to `longestDelay`. */
  firstDelay: number
  longestDelay: number
  /** Share of the delay that is added at random, so that plugins which crashed together do not return together. */
  jitter: number
}

export const defaultRestartPolicy: RestartPolicy = {
  budget: 5,
  window: 10 * 60_000,
  firstDelay: 1_000,
  longestDelay: 60_000,
  jitter: 0.2,
}

export type RestartDecision = { restart: true; delay: number } | { restart: false; crashes: number }

/** `crashes`: times of this plugin's crashes, the present one included. `random`: 0 up to 1. */
export function decideRestart(
  policy: RestartPolicy,
  crashes: readonly number[],
  now: number,
  random: number,
): RestartDecision {
  const recent = crashes.filter((at) => now - at < policy.window).length
  if (recent >= policy.budget) return { restart: false, crashes: recent }
  const delay = Math.min(policy.longestDelay, policy.firstDelay * 2 ** Math.max(0, recent - 1))
  return { restart: true, delay: Math.round(delay * (1 + policy.jitter * random)) }
}
