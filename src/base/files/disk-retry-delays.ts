/** How long after each refusal the disk is tried again, in milliseconds; the last one from then on. */
export const diskRetryDelays: readonly [number, ...number[]] = [5_000, 10_000, 20_000, 40_000, 60_000]

/** Milliseconds to wait before attempt `attempt` (0: the first after a refusal). */
export function diskRetryDelay(attempt: number): number {
  return diskRetryDelays[Math.min(attempt, diskRetryDelays.length - 1)] ?? diskRetryDelays[0]
}
