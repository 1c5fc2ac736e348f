/** Bytes of room to begin with. */
const leastRoom = 4 * 1024

/**
 * Bytes that have come, in one piece of memory that grows, so that a stream of single bytes is not copied again and again.
 * What is taken is a part of it, and stays until `add`.
 */
export interface ReceivedBytes {
  readonly length: number
  add(chunk: Uint8Array): void
  /** What is in front of the delimiter, and takes that away, too; undefined: it has not come. */
  takeUpTo(delimiter: Uint8Array): Uint8Array | undefined
  /** The number in the first bytes, which stay. */
  readLength(bytes: 2 | 4): number | undefined
  /** `bytes` behind the first `skip`, which are left out. */
  take(skip: number, bytes: number): Uint8Array | undefined
  takeAll(): Uint8Array
}

export function createReceivedBytes(): ReceivedBytes {
  let room = Buffer.alloc(0)
  /** The room up to where it is filled. */
  let filled = room
  let from = 0
  /** Up to here there is no delimiter. */
  let searched = 0

  function cut(begin: number, end: number, after = 0): Uint8Array {
    from = end + after
    searched = from
    return filled.subarray(begin, end)
  }

  const length = (): number => filled.length - from

  return {
    get length() {
      return length()
    },
    add(chunk) {
      let to = filled.length
      if (to + chunk.byteLength > room.byteLength) {
        const wanted = length() + chunk.byteLength
        const larger = wanted * 2 > room.byteLength ? Buffer.alloc(Math.max(leastRoom, wanted * 2)) : room
        room.copy(larger, 0, from, to)
        searched -= from
        to -= from
        from = 0
        room = larger
      }
      room.set(chunk, to)
      filled = room.subarray(0, to + chunk.byteLength)
    },
    takeUpTo(delimiter) {
      const found = filled.indexOf(delimiter, searched)
      if (found >= 0) return cut(from, found, delimiter.byteLength)
      searched = Math.max(from, filled.length - delimiter.byteLength + 1)
      return undefined
    },
    readLength: (bytes) => (length() < bytes ? undefined : filled.readUIntBE(from, bytes)),
    take: (skip, bytes) => (length() < skip + bytes ? undefined : cut(from + skip, from + skip + bytes)),
    takeAll: () => cut(from, filled.length),
  }
}
