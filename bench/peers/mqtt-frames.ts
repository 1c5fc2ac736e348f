/** The few packets of MQTT 3.1.1 that a measurement needs, made and read as cheaply as can be: no client library
 * is measured along with the broker. */

function text(value: string): Buffer {
  const bytes = Buffer.from(value)
  const length = Buffer.alloc(2)
  length.writeUInt16BE(bytes.length)
  return Buffer.concat([length, bytes])
}

function packet(header: number, body: Buffer): Buffer {
  const length: number[] = []
  let rest = body.length
  do {
    const digit = rest % 128
    rest = Math.floor(rest / 128)
    length.push(rest > 0 ? digit | 128 : digit)
  } while (rest > 0)
  return Buffer.concat([Buffer.from([header, ...length]), body])
}

/** Clean session, no keepalive. */
export function connectPacket(clientId: string): Buffer {
  return packet(0x10, Buffer.concat([text('MQTT'), Buffer.from([4, 2, 0, 0]), text(clientId)]))
}

/** QoS 0. */
export function subscribePacket(filter: string): Buffer {
  return packet(0x82, Buffer.concat([Buffer.from([0, 1]), text(filter), Buffer.from([0])]))
}

/** QoS 0. */
export function publishPacket(topic: string, payload: string): Buffer {
  return packet(0x30, Buffer.concat([text(topic), Buffer.from(payload)]))
}

const publishType = 3
const subackType = 9

export interface FrameCounter {
  /** Takes what a socket has read. */
  read(chunk: Buffer): void
  readonly published: number
  readonly subscribed: boolean
}

/** Counts the packets in a stream by their types and lengths. */
export function createFrameCounter(): FrameCounter {
  let published = 0
  let subscribed = false
  /** Bytes of the packet that is being skipped. */
  let left = 0
  let header: number | undefined
  let length = 0
  let factor = 1

  function begun(): void {
    if (header !== undefined && header >> 4 === publishType) published += 1
    if (header !== undefined && header >> 4 === subackType) subscribed = true
    left = length
    header = undefined
    length = 0
    factor = 1
  }

  return {
    read(chunk) {
      let at = 0
      while (at < chunk.length) {
        if (left > 0) {
          const skipped = Math.min(left, chunk.length - at)
          left -= skipped
          at += skipped
        } else if (header === undefined) {
          header = chunk[at] ?? 0
          at += 1
        } else {
          const digit = chunk[at] ?? 0
          at += 1
          length += (digit & 127) * factor
          factor *= 128
          if (digit < 128) begun()
        }
      }
    },
    get published() {
      return published
    },
    get subscribed() {
      return subscribed
    },
  }
}
