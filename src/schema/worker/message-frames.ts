/**
 * How all that is frequent crosses between the host and a worker, many in one buffer: nothing of it is parsed, cloned or
 * turned into text on the way. Events, messages and the data of connections go in both directions; values and log lines
 * come from the worker, and what becomes of connections from the host.
 * A frame has a header of 14 bytes, little-endian, and three parts:
 *
 * | bytes | |
 * | ----- | --- |
 * | 1     | kind |
 * | 1     | options: quality of service in bits 0 and 1, retain in bit 2 |
 * | 2     | length of the name |
 * | 4     | number of the subscription or connection that it is for |
 * | 4     | length of the payload |
 * | 2     | length of the foreign caller's id; 0: nobody |
 *
 * then name, foreign caller and payload.
 */

/** What a plugin shows: an object, the value of a sensor or a control, all values of an exposure. */
export type ValueKind = 'object' | 'sensor' | 'control' | 'exposed'
/** `connection`: what becomes of it. The other two are its data (`connection.ts`). */
export type ConnectionFrameKind = 'connection' | 'data' | 'text'
/** A time that has come, by its number; a watched value that has changed, as `[value, previous]`. */
export type TriggerFrameKind = 'schedule' | 'watch'
export type FrameKind = 'event' | 'message' | 'log' | ValueKind | ConnectionFrameKind | TriggerFrameKind
const kinds: readonly FrameKind[] = [
  ...(['event', 'message', 'log', 'object', 'sensor', 'control', 'exposed'] as const),
  ...(['connection', 'data', 'text', 'schedule', 'watch'] as const),
]
const headerBytes = 14
const retainBit = 4
const qosBits = 3
/** Bytes of a buffer to begin with. */
const leastCapacity = 1024
/** Bytes of UTF-8 that a character of UTF-16 takes at most. */
const bytesPerCharacter = 3
/** A buffer that is filled less than this is copied rather than handed over, 0 to 1. */
const worthHandingOver = 0.25

/** As MQTT knows them. */
export interface DeliveryOptions {
  qos: 0 | 1 | 2
  retain: boolean
}

const noOptions: DeliveryOptions = Object.freeze({ qos: 0, retain: false })

/** By the byte of a frame. Made once: nobody changes them. */
const optionBits = 7
const optionsOf: readonly DeliveryOptions[] = Array.from({ length: optionBits + 1 }, (_, bits) =>
  Object.freeze({ qos: (bits & qosBits) as 0 | 1 | 2, retain: (bits & retainBit) !== 0 }),
)

export interface Frame {
  kind: FrameKind
  /** Name of the event, topic of the message, path or id of what has the value; of a log line nothing. */
  name: string
  options: DeliveryOptions
  /** For which of the isolate's subscriptions, or connections, it is. */
  subscription: number
  /** The plugin that has sent it through the instance of this one; of an event on its way to a plugin who has emitted it. */
  foreignCaller: string | undefined
  /** JSON, but for a message. None: a sensor or control that has no value yet. A part of the buffer that has come. */
  payload: Uint8Array
}

export interface FrameWriter {
  /** Appends one; a text is written as UTF-8. Answers how many bytes it takes. */
  write(
    kind: FrameKind,
    name: string,
    payload: Uint8Array | string,
    more?: { options?: DeliveryOptions; subscription?: number; foreignCaller?: string | undefined },
  ): number
  /** Bytes of what has been written. */
  readonly length: number
  /** All of it, in a buffer of its own that can be transferred; the writer is empty then. */
  take(): Uint8Array<ArrayBuffer>
}

export function createFrameWriter(): FrameWriter {
  let buffer = Buffer.alloc(0)
  let length = 0

  function reserve(bytes: number): void {
    if (length + bytes <= buffer.length) return
    // Zeroed: what is beyond the frames goes to the other side, too.
    const larger = new Uint8Array(Math.max(leastCapacity, (length + bytes) * 2))
    larger.set(buffer.subarray(0, length))
    buffer = Buffer.from(larger.buffer)
  }

  return {
    write(kind, name, payload, { options = noOptions, subscription = 0, foreignCaller = '' } = {}) {
      const most = typeof payload === 'string' ? payload.length * bytesPerCharacter : payload.length
      reserve(headerBytes + (name.length + foreignCaller.length) * bytesPerCharacter + most)
      const begin = length
      let at = begin + headerBytes
      const nameBytes = buffer.write(name, at)
      at += nameBytes
      const foreignCallerBytes = foreignCaller === '' ? 0 : buffer.write(foreignCaller, at)
      at += foreignCallerBytes
      let payloadBytes = payload.length
      if (typeof payload === 'string') payloadBytes = buffer.write(payload, at)
      else buffer.set(payload, at)
      buffer[begin] = kinds.indexOf(kind)
      buffer[begin + 1] = options.qos | (options.retain ? retainBit : 0)
      buffer.writeUInt16LE(nameBytes, begin + 2)
      buffer.writeUInt32LE(subscription, begin + 4)
      buffer.writeUInt32LE(payloadBytes, begin + 8)
      buffer.writeUInt16LE(foreignCallerBytes, begin + 12)
      length = at + payloadBytes
      return length - begin
    },
    get length() {
      return length
    },
    take() {
      const written = new Uint8Array(buffer.buffer, 0, length)
      const isWorthIt = length >= buffer.length * worthHandingOver
      const taken = isWorthIt ? written : written.slice()
      if (isWorthIt) buffer = Buffer.alloc(0)
      length = 0
      return taken
    },
  }
}

export interface FrameReader {
  /** The next one; undefined after the last. Throws `Error` when the bytes are no frames. */
  next(): Frame | undefined
  /** Bytes that are left. */
  readonly left: number
}

export function createFrameReader(bytes: Uint8Array): FrameReader {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let at = 0
  /** Most buffers have one name in all their frames. */
  let last = { from: 0, length: 0, name: '' }

  function nameAt(from: number, to: number): string {
    const { length } = last
    let same = to - from === length ? 0 : -1
    while (same >= 0 && same < length && buffer[from + same] === buffer[last.from + same]) same += 1
    if (same !== length) last = { from, length: to - from, name: buffer.toString('utf8', from, to) }
    return last.name
  }

  return {
    next() {
      if (at >= buffer.length) return undefined
      if (at + headerBytes > buffer.length) throw new Error('a frame has no whole header')
      const kind = kinds[buffer[at] ?? kinds.length]
      const options = buffer[at + 1] ?? 0
      const qos = options & qosBits
      if (kind === undefined || qos === qosBits) throw new Error('a frame has no known kind')
      const subscription = buffer.readUInt32LE(at + 4)
      const nameEnd = at + headerBytes + buffer.readUInt16LE(at + 2)
      const foreignCallerEnd = nameEnd + buffer.readUInt16LE(at + 12)
      const end = foreignCallerEnd + buffer.readUInt32LE(at + 8)
      if (end > buffer.length) throw new Error('a frame is longer than its buffer')
      const name = nameAt(at + headerBytes, nameEnd)
      const foreignCaller =
        foreignCallerEnd === nameEnd ? undefined : buffer.toString('utf8', nameEnd, foreignCallerEnd)
      at = end
      const payload = buffer.subarray(foreignCallerEnd, end)
      return {
        kind,
        name,
        options: optionsOf[options & optionBits] ?? noOptions,
        subscription,
        foreignCaller,
        payload,
      }
    },
    get left() {
      return buffer.length - at
    },
  }
}
