/** Milliseconds before the first new attempt to connect. */
export const firstDelay = 500
/** Milliseconds between attempts once many have failed. */
export const longestDelay = 30_000

/**
 * Milliseconds to wait before attempt `attempt` (0: the first after a failure). Doubles each time; `random`
 * (0 up to 1) takes up to half of it away, so that a fleet does not come back all at once.
 */
export function backOffDelay(attempt: number, random: number): number {
  const full = Math.min(longestDelay, firstDelay * 2 ** Math.min(attempt, 16))
  return Math.round(full * (1 - random / 2))
}
