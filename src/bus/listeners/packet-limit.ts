import type { Duplex } from 'node:stream'
import { readAvailable } from '../../base/network/read-available.ts'

/** Lengths of MQTT packets are written in base 128, low digits first, in at most this many bytes. */
const lengthBytes = 4

/**
 * Watches the borders of MQTT packets in a stream of bytes. Answers false as soon as a packet announces to
 * be longer than `limit` bytes, so that it need not be collected first. `goOn` is asked at the end of each packet, which
 * is at this position of the chunk: false leaves the rest of the chunk for later.
 */
export function createPacketScanner(
  limit: number,
  goOn: (position: number) => boolean = () => true,
): (chunk: Uint8Array) => boolean {
  let bodyLeft = 0
  let inLength = false
  let length = 0
  let digits = 0
  return (chunk) => {
    let position = 0
    while (position < chunk.length) {
      if (bodyLeft > 0) {
        const skipped = Math.min(bodyLeft, chunk.length - position)
        bodyLeft -= skipped
        position += skipped
        if (bodyLeft === 0 && !goOn(position)) return true
        continue
      }
      const byte = chunk[position] ?? 0
      position += 1
      if (!inLength) {
        inLength = true
        length = 0
        digits = 0
        continue
      }
      length += (byte & 0x7f) * 128 ** digits
      digits += 1
      if (length > limit || (digits === lengthBytes && byte >= 0x80)) return false
      if (byte < 0x80) {
        inLength = false
        bodyLeft = length
        if (length === 0 && !goOn(position)) return true
      }
    }
    return true
  }
}

/**
 * Ends a connection on which a packet of more than `limit` bytes is announced. What comes right behind the first packet,
 * CONNECT, is not read together with it: the broker would keep 42 packets and cut off whoever sends more at once, and it
 * takes some of them before it has let the client in.
 */
export function limitPackets(connection: Duplex, limit: number, onExceeded: () => void): void {
  let firstEnd: number | undefined
  const accept = createPacketScanner(limit, (position) => {
    const isFirst = firstEnd === undefined
    firstEnd ??= position
    return !isFirst
  })
  const read = connection.read.bind(connection) as (size?: number | null) => Buffer | null

  // The broker reads with `read()`; a stream in between would cost every packet another hop.
  connection.read = (size?: number | null): unknown => {
    // Node itself, which wants more to come and nothing of what is there.
    if (size === 0) return read(0)
    // The broker asks once.
    const chunk = readAvailable(connection, read)
    if (chunk === null) return null
    const isFirst = firstEnd === undefined
    if (!accept(chunk)) {
      onExceeded()
      connection.destroy()
      return null
    }
    if (!isFirst || firstEnd === undefined || firstEnd === chunk.length) return chunk
    connection.unshift(chunk.subarray(firstEnd))
    return chunk.subarray(0, firstEnd)
  }
}
