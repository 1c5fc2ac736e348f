/** Types of packets with filters, in the upper four bits of their first byte. */
export const subscribe = 8
const unsubscribe = 10

/** Bytes at the start of such a packet: its number. */
const numberBytes = 2

/** Counts the filters of SUBSCRIBE and UNSUBSCRIBE packets of MQTT 3 while they come. */
export interface FilterCount {
  /** A packet begins. */
  begin(type: number): void
  /** More of its body is there, from one position of the chunk to another: answers how many filters have begun until now. */
  add(chunk: Uint8Array, start: number, end: number): number
}

export function createFilterCount(): FilterCount {
  let hasFilters = false
  /** Bytes behind each filter: of a SUBSCRIBE the QoS. */
  let behind = 0
  let count = 0
  /** Bytes until the next length. */
  let left = 0
  /** The first of the two bytes of a length. */
  let high: number | undefined

  return {
    begin(type) {
      hasFilters = type === subscribe || type === unsubscribe
      behind = type === subscribe ? 1 : 0
      count = 0
      left = numberBytes
      high = undefined
    },
    add(chunk, start, end) {
      if (!hasFilters) return 0
      let position = start
      while (position < end) {
        if (left > 0) {
          const skipped = Math.min(left, end - position)
          left -= skipped
          position += skipped
          continue
        }
        const byte = chunk[position] ?? 0
        position += 1
        if (high === undefined) {
          high = byte
          count += 1
        } else {
          left = high * 256 + byte + behind
          high = undefined
        }
      }
      return count
    },
  }
}
