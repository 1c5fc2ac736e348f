import { evictOldest } from '../evict-oldest.ts'
import { networkInterfaces } from 'node:os'
import { clientNetwork } from './client-address.ts'
import type { Clock } from '../time/clock.ts'
import { canonicalAddress, kindOfAddress } from './ip-address.ts'
import type { LogFields } from '../log/log.ts'

/** Wrong tokens that one address may send within `triesWindow` before it is cut off. */
export const wrongTriesAllowed = 30
/** How long, in milliseconds, a wrong token counts. */
export const triesWindow = 5 * 60 * 1_000
/** How long, in milliseconds, an address is cut off. */
export const cutOffTime = 60 * 1_000
/** The same for this machine's own addresses: nobody there may lock the owner out. */
export const ownCutOffTime = 1_000
/** Addresses that are remembered at a time; beyond it those go that were wrong longest ago. */
export const addressesLimit = 10_000

/**
 * Keeps anybody from guessing the token, by address, at HTTP and MQTT together. While an address is cut off, no token
 * of it is looked at: the right one is answered like a wrong one.
 */
export interface GuessLimit extends Guesses {
  /** How often an address was cut off. */
  readonly cutOffs: number
  /**
   * Of web pages, counted apart: a page from anywhere may guess in the browser of whoever reads it, and would have that
   * address cut off, its owner included.
   */
  readonly pages: Guesses
}

/** What limits the guesses of one client. */
export interface Guesses {
  /** Milliseconds for which the address is cut off; 0: it is not. */
  cutOffLeft(address: string): number
  /** A wrong token came from this address. */
  recordWrong(address: string): void
}

interface GuessLimitSettings {
  clock: Clock
  warn: (message: string, fields: LogFields) => void
  isOwnAddress?: (address: string) => boolean
}

export function createGuessLimit(settings: GuessLimitSettings): GuessLimit {
  const all = createCounter(settings, 'An address was cut off: too many wrong tokens came from it')
  const ofPages = createCounter(
    settings,
    'Web pages at an address were cut off: too many wrong tokens came from them',
  )
  return {
    cutOffLeft: all.cutOffLeft,
    recordWrong: all.recordWrong,
    get cutOffs() {
      return all.cutOffs
    },
    pages: {
      cutOffLeft: (address) => Math.max(all.cutOffLeft(address), ofPages.cutOffLeft(address)),
      recordWrong: ofPages.recordWrong,
    },
  }
}

/** `sentence`: what the log says of an address that is cut off. */
function createCounter(settings: GuessLimitSettings, sentence: string): Omit<GuessLimit, 'pages'> {
  const { clock, warn, isOwnAddress = isOfThisMachine } = settings
  /** When the tries were (monotonic) that count, and until when it is cut off; the last wrong one is last. */
  const sources = new Map<string, { tries: number[]; until: number }>()
  let cutOffs = 0

  /** A host that has no file descriptor left is not told its addresses: it takes nobody's connection for its own then. */
  function isOwnNow(address: string): boolean {
    try {
      return isOwnAddress(address)
    } catch {
      return false
    }
  }

  /** This machine may be in the network of a client. */
  function sourceOf(address: string): { source: string; isOwn: boolean } {
    const canonical = canonicalAddress(address) ?? address
    const isOwn = isOwnNow(canonical)
    return { source: isOwn ? canonical : clientNetwork(canonical), isOwn }
  }

  return {
    cutOffLeft(address) {
      if (sources.size === 0) return 0
      const { until = 0 } = sources.get(sourceOf(address).source) ?? {}
      return Math.max(0, until - clock.monotonic())
    },
    recordWrong(address) {
      const now = clock.monotonic()
      const { source, isOwn } = sourceOf(address)
      const tries = (sources.get(source)?.tries ?? []).filter((at) => at > now - triesWindow)
      tries.push(now)
      sources.delete(source)
      if (tries.length < wrongTriesAllowed) {
        sources.set(source, { tries, until: 0 })
      } else {
        const duration = isOwn ? ownCutOffTime : cutOffTime
        sources.set(source, { tries: [], until: now + duration })
        cutOffs += 1
        warn(sentence, { address: source, seconds: duration / 1_000 })
      }
      evictOldest(sources, addressesLimit)
    },
    get cutOffs() {
      return cutOffs
    },
  }
}

/** `address`: a canonical one. */
function isOfThisMachine(address: string): boolean {
  if (kindOfAddress(address) === 'loopback') return true
  return Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .some((own) => canonicalAddress(own.address) === address)
}
