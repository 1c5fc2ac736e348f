import { StringTooLong } from '../raw-function.ts'

/** Joins pieces to one string, and refuses before it gets too long. */
export interface ByteBuilder {
  add(piece: Uint8Array): void
  take(): Uint8Array
}

/** V8 keeps no more on its heap; what is larger takes an allocation from the system. */
const firstCapacity = 64

export function createByteBuilder(limit: number): ByteBuilder {
  let buffer = new Uint8Array(firstCapacity)
  let length = 0
  return {
    add(piece) {
      const needed = length + piece.length
      if (needed > limit) throw new StringTooLong(limit)
      if (needed > buffer.length) {
        const larger = new Uint8Array(Math.max(needed, buffer.length * 2))
        larger.set(buffer.subarray(0, length))
        buffer = larger
      }
      buffer.set(piece, length)
      length = needed
    },
    take: () => buffer.subarray(0, length),
  }
}
