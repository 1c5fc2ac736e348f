import { isIPv6 } from 'node:net'
import type { Clock } from '../base/clock.ts'

/** Wrong tokens that one address may send before it has to wait. */
export const failuresAllowed = 5
/** How long, in milliseconds, a failure counts: guessing gets five tries in a quarter of an hour. */
export const failureWindow = 15 * 60 * 1_000
/** Wrong tokens that all addresses together may send in that time; somebody with many addresses guesses no faster. */
export const failuresOfAll = 200
/** Addresses that are remembered at a time. */
const addressesLimit = 1_000

/** Slows down whoever guesses tokens, by address. */
export interface LoginLimit {
  /** Milliseconds that this address has to wait before it may try; 0: it may now. */
  wait(address: string): number
  failed(address: string): void
  succeeded(address: string): void
}

/**
 * Wrong tokens in requests of one address until the answer is 429 in place of 401. More than of logins: a
 * program repeats itself. The right token is let through all the same, as others may share the address.
 */
export const wrongTokensAllowed = 30

export function createLoginLimit(clock: Clock, allowed = failuresAllowed): LoginLimit {
  // Times of the failures, by address; the one that failed last is last.
  const failures = new Map<string, number[]>()
  let all: number[] = []

  function recent(times: readonly number[]): number[] {
    const since = clock.monotonic() - failureWindow
    return times.filter((at) => at > since)
  }

  /** Until the oldest of as many as are allowed does not count any more. */
  function waitOf(times: readonly number[], allowed: number): number {
    const counted = recent(times)
    const oldest = counted.at(-allowed)
    return oldest === undefined ? 0 : oldest + failureWindow - clock.monotonic()
  }

  return {
    wait(address) {
      const own = failures.get(networkOf(address)) ?? []
      return Math.max(waitOf(own, allowed), waitOf(all, failuresOfAll))
    },
    failed(address) {
      const network = networkOf(address)
      const now = clock.monotonic()
      // No more are kept than count.
      const times = [...recent(failures.get(network) ?? []), now].slice(-allowed)
      failures.delete(network)
      failures.set(network, times)
      all = [...recent(all), now].slice(-failuresOfAll)
      for (const known of failures.keys()) {
        if (failures.size <= addressesLimit) break
        failures.delete(known)
      }
    },
    succeeded: (address) => void failures.delete(networkOf(address)),
  }
}

/** Who has one IPv6 address has a whole network of them (a /64). */
function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)
  if (mapped?.[1] !== undefined) return mapped[1]
  if (!isIPv6(address)) return address
  const [front = '', back] = address.split('%')[0]?.split('::') ?? []
  const head = front === '' ? [] : front.split(':')
  const tail = back === undefined || back === '' ? [] : back.split(':')
  const zeros = back === undefined ? [] : Array.from({ length: 8 - head.length - tail.length }, () => '0')
  return [...head, ...zeros, ...tail].slice(0, 4).join(':')
}
