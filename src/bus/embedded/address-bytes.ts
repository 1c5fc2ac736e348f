/** How many bytes clients have the broker keep for them: those of one address, and all of them. */
export interface AddressBytes {
  /** Why so many more are too many. */
  refusalOf(address: string, bytes: number): string | undefined
  /** Less than 0: that many are kept no more. */
  add(address: string, bytes: number): void
}

export function createAddressBytes(limits: { address: number; clients: number }): AddressBytes {
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
