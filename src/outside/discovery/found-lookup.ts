import type { LookupAddress } from 'node:dns'
import { isIPv6, type LookupFunction } from 'node:net'

/** How a name is looked up, where a search on the network may know it. */
export interface FoundLookupSettings {
  /** Addresses that a running search has found for this name, the best first. */
  addressesOf(name: string): readonly string[]
  /** The system's. */
  otherwise: LookupFunction
}

/**
 * Names that end in `.local` are multicast DNS's own. Few systems look there, and containers never do: what a search has
 * found has to be reachable by the name under which it was found. No other name is taken from a search, since anybody on
 * the network may say anything.
 */
export function createFoundLookup({ addressesOf, otherwise }: FoundLookupSettings): LookupFunction {
  return (hostname, options, callback) => {
    const found = /\.local\.?$/i.test(hostname) ? addressesOf(hostname.replace(/\.$/, '')) : []
    const wanted = found
      .map((address): LookupAddress => ({ address, family: isIPv6(address) ? 6 : 4 }))
      .filter(({ family }) => !options.family || String(options.family).endsWith(String(family)))
    const [first] = wanted
    if (first === undefined) otherwise(hostname, options, callback)
    else if (options.all === true) callback(null, wanted)
    else callback(null, first.address, first.family)
  }
}
