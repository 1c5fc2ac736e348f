import type { LookupFunction } from 'node:net'

/** The same lookup, which fails with what `refuse` says of the addresses that it has found: there is no second look. */
export function guardLookup(
  lookup: LookupFunction,
  refuse: (addresses: readonly string[], hostname: string) => Error | undefined,
): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, options, (error, found, family) => {
      // After an error there may be nothing, whatever the type says.
      const all =
        error !== null ? [] : typeof found === 'string' ? [found] : found.map(({ address }) => address)
      const refusal = refuse(all, hostname)
      if (refusal === undefined) callback(error, found, family)
      else callback(refusal, '', family)
    })
  }
}
