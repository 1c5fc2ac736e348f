import type { Duplex } from 'node:stream'
import { readAvailable } from '../../base/network/read-available.ts'
import { createFilterCount, subscribe } from './filter-count.ts'
import { deliveriesAsPacket, deliveriesAtOnce, packetsAtOnce, type ReadScheduler } from './read-scheduler.ts'

/**
 * Bytes of SUBSCRIBE packets behind which nothing is read together with them: fewer have less than 500 filters, which the broker looks at
 * while it reads. Of more some have to wait ("subscription-scheduler.ts"), and what comes behind them has to wait for them.
 */
const subscribeBytesAtOnce = 2_000

/** Bytes of a client that are read at a time, and that take as long as a packet. */
const bytesAtOnce = 16 * 1_024
const bytesAsPacket = 1_024

/** Type of packets with a message, in the upper four bits of their first byte. */
const publish = 3
/** Bytes that tell the length of its topic, with which it begins. */
const topicLengthBytes = 2

/** Lengths of MQTT packets are written in base 128, low digits first, in at most this many bytes. */
const lengthBytes = 4

/** What one packet may have. */
export interface PacketLimits {
  bytes: number
  /** Of a SUBSCRIBE or UNSUBSCRIBE: the broker looks at all of them in one turn. */
  filters: number
}

/**
 * Watches the borders of MQTT packets in a stream of bytes. Answers false as soon as a packet announces to
 * be longer than allowed, or has too many filters, so that it need not be collected first. `goOn` is asked at the end of each packet, with this first byte and
 * length, which is at this position of the chunk: false leaves the rest of the chunk for later. `begin` is told where in it the body begins.
 */
export function createPacketScanner(
  limits: PacketLimits,
  goOn: (position: number, first: number, length: number) => boolean,
  begin: (chunk: Buffer, position: number, first: number, length: number) => void,
): (chunk: Buffer) => boolean {
  let bodyLeft = 0
  let first = 0
  let inLength = false
  let length = 0
  let digits = 0
  const filters = createFilterCount()
  return (chunk) => {
    let position = 0
    while (position < chunk.length) {
      if (bodyLeft > 0) {
        const skipped = Math.min(bodyLeft, chunk.length - position)
        if (filters.add(chunk, position, position + skipped) > limits.filters) return false
        bodyLeft -= skipped
        position += skipped
        if (bodyLeft === 0 && !goOn(position, first, length)) return true
        continue
      }
      const byte = chunk[position] ?? 0
      position += 1
      if (!inLength) {
        inLength = true
        first = byte
        length = 0
        digits = 0
        continue
      }
      length += (byte & 0x7f) * 128 ** digits
      digits += 1
      if (length > limits.bytes || (digits === lengthBytes && byte >= 0x80)) return false
      if (byte < 0x80) {
        inLength = false
        bodyLeft = length
        filters.begin(first >> 4)
        begin(chunk, position, first, length)
        if (length === 0 && !goOn(position, first, length)) return true
      }
    }
    return true
  }
}

/**
 * Ends a connection on which a packet of more than so many bytes is announced, or has more than so many filters. What comes right behind the first packet,
 * CONNECT, is not read together with it: the broker would keep 42 packets and cut off whoever sends more at once, and it
 * takes some of them before it has let the client in. Nor is what comes behind many filters, many packets, or messages for many: they are
 * read in turns. `cost`: how much a message on this topic is, in deliveries.
 */
export function limitPackets(
  connection: Duplex,
  limits: PacketLimits,
  turns: ReadScheduler,
  cost: (topic: string, qos: number) => number,
  onExceeded: () => void,
): void {
  let isConnecting = true
  let subscribeBytes = 0
  let packets = 0
  let deliveries = 0
  /** Where in the chunk that is read something ends behind which nothing is read together with it. */
  let end: number | undefined
  const accept = createPacketScanner(limits, goBehind, count)
  const read = connection.read.bind(connection) as (size?: number | null) => Buffer | null
  /** Some of what was read last is left: the broker may be in the midst of the rest, and its parser cannot be entered a second time. */
  let isLeft = false

  function goBehind(position: number, first: number, length: number): boolean {
    if (first >> 4 === subscribe) subscribeBytes += length
    packets += 1
    if (
      !isConnecting &&
      subscribeBytes < subscribeBytesAtOnce &&
      packets < packetsAtOnce &&
      deliveries < deliveriesAtOnce
    )
      return true
    isConnecting = false
    end = position
    return false
  }

  /** Counts a message where it begins, as a large one ends in another chunk. One whose topic is not all there is not counted. */
  function count(chunk: Buffer, position: number, first: number, length: number): void {
    const topic = position + topicLengthBytes
    if (first >> 4 !== publish || length < topicLengthBytes || topic > chunk.length) return
    const topicEnd = Math.min(topic + chunk.readUInt16BE(position), position + length)
    if (topicEnd <= chunk.length)
      deliveries += cost(chunk.toString('utf8', topic, topicEnd), (first >> 1) & 3)
  }

  function goOn(): void {
    isLeft = false
    connection.emit('readable')
  }

  // The broker reads with `read()`; a stream in between would cost every packet another hop.
  connection.read = (size?: number | null): unknown => {
    // Node itself, which wants more to come and nothing of what is there.
    if (size === 0) return read(0)
    const available = connection.readableLength
    if (isLeft) turns.wait(goOn)
    if (isLeft || (available > 0 && !turns.mayRead(goOn))) return null
    // Of much not all, or Node would go on to read from the network. With a size it does not see that the end has come.
    const chunk = available > bytesAtOnce ? read(bytesAtOnce) : readAvailable(connection, read)
    if (chunk === null) return null
    subscribeBytes = 0
    packets = 0
    deliveries = 0
    if (!accept(chunk)) {
      onExceeded()
      connection.destroy()
      return null
    }
    const part = chunk.subarray(0, end)
    end = undefined
    turns.hasRead(Math.max(packets, part.length / bytesAsPacket, deliveries / deliveriesAsPacket))
    if (part.length < chunk.length) connection.unshift(chunk.subarray(part.length))
    isLeft = part.length < available
    // Whoever handles a packet asks for the next ones; of a large one more has to come first.
    if (isLeft && packets === 0) turns.wait(goOn)
    return part
  }
}
