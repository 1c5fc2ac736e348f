/** Bytes of the values of one call: a picture fits, and no plugin can fill the host's memory. */
const serializedBytesLimit = 16 * 1024 * 1024
/** Bytes that a writer begins with. */
export const firstCapacity = 256

/** What each value begins with. */
export const tag = { nil: 0, no: 1, yes: 2, number: 3, string: 4, table: 5, again: 6, reference: 7 } as const

/** Of all writers: what is written is copied before the next one begins. */
export const firstBuffer = new Uint8Array(firstCapacity)
export const firstView = new DataView(firstBuffer.buffer)

/** Writes values, one after the other. Throws `Error` when they take too many bytes. */
export interface ValueWriter {
  byte(value: number): void
  number(value: number): void
  string(value: Uint8Array): void
  table(pairs: number): void
  again(index: number): void
  reference(index: number): void
  /** Another writer may begin before this one ends. */
  keep(): void
  take(): Uint8Array
}

export function createValueWriter(): ValueWriter {
  let buffer = firstBuffer
  let view = firstView
  let length = 0

  function move(size: number): void {
    const other = new Uint8Array(size)
    other.set(buffer)
    buffer = other
    view = new DataView(buffer.buffer)
  }

  /** Makes room, and answers where it begins. */
  function reserve(size: number): number {
    const at = length
    length += size
    if (length > serializedBytesLimit)
      throw new Error(`the values take more than ${serializedBytesLimit} bytes`)
    if (length > buffer.length) move(Math.max(length, buffer.length * 2))
    return at
  }

  function counted(kind: number, count: number, size = 0): number {
    const at = reserve(5 + size)
    view.setUint8(at, kind)
    view.setUint32(at + 1, count, true)
    return at + 5
  }

  return {
    byte(value) {
      // First the room: the view may be another one afterwards.
      const at = reserve(1)
      view.setUint8(at, value)
    },
    number(value) {
      const at = reserve(9)
      view.setUint8(at, tag.number)
      view.setFloat64(at + 1, value, true)
    },
    string(value) {
      // First the room: the buffer may be another one afterwards.
      const at = counted(tag.string, value.length, value.length)
      buffer.set(value, at)
    },
    table: (pairs) => void counted(tag.table, pairs),
    again: (index) => void counted(tag.again, index),
    reference: (index) => void counted(tag.reference, index),
    keep() {
      if (buffer === firstBuffer) move(buffer.length * 2)
    },
    // A copy of its own size: a view would take the whole buffer along.
    take: () => buffer.slice(0, length),
  }
}
