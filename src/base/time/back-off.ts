/** Milliseconds to wait before another attempt: the first time, and at most. */
export interface BackOff {
  min: number
  max: number
}

/**
 * Milliseconds to wait before attempt `attempt` (0: the first after a failure). Doubles each time; `random` (0 up to 1) takes
 * up to half of it away, so that many do not come back all at once.
 */
export function backOffDelay({ min, max }: BackOff, attempt: number, random: number): number {
  const full = Math.min(Math.max(min, max), min * 2 ** Math.min(attempt, 32))
  return full * (1 - random / 2)
}
