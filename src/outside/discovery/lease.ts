/** How long something is believed, in ms of a clock that never goes backwards. */
export interface Lease {
  until: number
  /** When it is to be asked for again, ascending; RFC 6762, section 5.2. */
  asks: number[]
  /** When it was said last. */
  at: number
}

/** Shares of the time that it is believed, after which it is asked for again. */
const askAgainAt = [0.8, 0.9]

/** Seconds that anything is believed; what says less would have us ask without end. */
const secondsBelieved = { least: 10, most: 24 * 3_600 } as const
/** Milliseconds until something ends that says so: it may be said again meanwhile. */
export const goodbyeTime = 1_000
/** Milliseconds within which something has to be said again when the networks have changed, or this process stood still. */
export const doubtTime = 10_000

/** The lease of something that says to be there for so many seconds; no time beyond reason is believed. */
export function leaseFor(now: number, seconds: number): Lease {
  const milliseconds = 1_000 * Math.min(Math.max(seconds, secondsBelieved.least), secondsBelieved.most)
  return { at: now, until: now + milliseconds, asks: askAgainAt.map((share) => now + share * milliseconds) }
}

/** Of a DNS record; with 0 seconds it says goodbye. */
export function leaseOfRecord(now: number, seconds: number): Lease {
  const lease = leaseFor(now, seconds)
  if (seconds === 0) shorten(lease, now + goodbyeTime)
  return lease
}

/** Has it end sooner, unless it is said again. `asks`: when it is asked for until then. */
export function shorten(lease: Lease, until: number, asks: number[] = []): void {
  lease.until = Math.min(lease.until, until)
  lease.asks = asks
}

/** Nobody could be heard for a while: what has ended meanwhile is asked for, and ends soon unless it is said again. */
export function allowForStandstill(lease: Lease, now: number): void {
  if (lease.until > now) return
  lease.until = now + doubtTime
  lease.asks = [now]
}

/** When it is to be asked for next, or ends. */
export function nextDue({ until, asks }: Lease): number {
  return Math.min(until, asks[0] ?? until)
}

/** Whether it is to be asked for now. Each time that is due counts once. */
export function takeDueQuery(lease: Lease, now: number): boolean {
  const passed = lease.asks.filter((at) => at <= now).length
  lease.asks.splice(0, passed)
  return passed > 0
}
