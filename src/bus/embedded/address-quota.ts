/** Counts the bytes that the broker keeps for clients: for those of one address, and for all of them. */
export interface AddressQuota {
  /** Why there is no room for so many more, as the rest of a sentence; undefined: there is. */
  refusalOf(address: string, bytes: number): string | undefined
  /** A number below 0 gives bytes back. */
  add(address: string, bytes: number): void
}

export function createAddressQuota(limits: { address: number; clients: number }): AddressQuota {
  const bytesOf = new Map<string, number>()
  let all = 0
  return {
    refusalOf(address, bytes) {
      if ((bytesOf.get(address) ?? 0) + bytes > limits.address)
        return 'the clients at its address have as many as they may'
      return all + bytes > limits.clients ? 'all clients together have as many as they may' : undefined
    },
    add(address, bytes) {
      all += bytes
      const ofAddress = (bytesOf.get(address) ?? 0) + bytes
      if (ofAddress === 0) bytesOf.delete(address)
      else bytesOf.set(address, ofAddress)
    },
  }
}
