import type { SandboxLimits } from '../limits.ts'

/** How much one plugin may ask of the host in the long run, and at once after a rest; `Infinity`: as much as it likes. */
export type PaceLimits = Pick<
  SandboxLimits,
  'operationsPerSecond' | 'operationBurst' | 'bytesPerSecond' | 'byteBurst'
>

/**
 * Counts what a plugin asked for, and says when it has to wait. `owed`: the milliseconds until it may ask again, 0 at once;
 * `of`: the limit that says so. It keeps no queue: whoever asks does not give credit before.
 */
export type ChargeTokens = (
  operations: number,
  bytes: number,
) => { owed: number; of: 'operationsPerSecond' | 'bytesPerSecond' }

export function createTokenBucket(limits: PaceLimits, monotonic: () => number): ChargeTokens {
  const operations = createMeter(limits.operationsPerSecond, limits.operationBurst)
  const bytes = createMeter(limits.bytesPerSecond, limits.byteBurst)
  return (operationCount, byteCount) => {
    const now = monotonic()
    const forOperations = operations(operationCount, now)
    const forBytes = bytes(byteCount, now)
    return forBytes > forOperations
      ? { owed: forBytes, of: 'bytesPerSecond' }
      : { owed: forOperations, of: 'operationsPerSecond' }
  }
}

/** Each unit takes its share of a second on an account that may be overdrawn by a burst. */
function createMeter(perSecond: number, burst: number): (amount: number, now: number) => number {
  if (perSecond === Number.POSITIVE_INFINITY) return () => 0
  const unit = 1000 / perSecond
  let paidUntil = Number.NEGATIVE_INFINITY
  return (amount, now) => {
    paidUntil = Math.max(paidUntil, now - burst * unit) + amount * unit
    return Math.max(0, paidUntil - now)
  }
}
