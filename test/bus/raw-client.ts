import { once } from 'node:events'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TestContext } from 'node:test'
import { createWebSocketStream, WebSocket } from 'ws'

/** A client that speaks MQTT 3.1.1 by hand: it confirms nothing by itself, and sees each packet as it comes. */

export const packetTypes = {
  connack: 2,
  publish: 3,
  puback: 4,
  pubrec: 5,
  pubrel: 6,
  pubcomp: 7,
  subscribe: 8,
  suback: 9,
  unsubscribe: 10,
  unsuback: 11,
  pingresp: 13,
} as const

export interface RawPacket {
  type: number
  /** The lower four bits of the first byte. */
  flags: number
  body: Buffer
}

const number16 = (value: number): Buffer => Buffer.from([value >> 8, value & 255])
const text = (value: string): Buffer =>
  Buffer.concat([number16(Buffer.byteLength(value)), Buffer.from(value)])

function packet(firstByte: number, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  const length: number[] = []
  for (let rest = body.length; ; rest >>= 7) {
    if (rest < 128) {
      length.push(rest)
      break
    }
    length.push((rest & 127) | 128)
  }
  return Buffer.concat([Buffer.from([firstByte, ...length]), body])
}

export interface ConnectOptions {
  id: string
  clean: boolean
  /** Seconds; 0: for ever. */
  keepalive?: number
  will?: { topic: string; payload: string; qos: number; retain: boolean }
  protocol?: { name: string; level: number }
  password?: string
}

export function connectPacket(options: ConnectOptions): Buffer {
  const { id, clean, keepalive = 0, will, protocol = { name: 'MQTT', level: 4 }, password } = options
  const willFlags = will === undefined ? 0 : 4 | (will.qos << 3) | (will.retain ? 32 : 0)
  return packet(
    0x10,
    text(protocol.name),
    Buffer.from([protocol.level, (password === undefined ? 0 : 0xc0) | willFlags | (clean ? 2 : 0)]),
    number16(keepalive),
    text(id),
    ...(will === undefined ? [] : [text(will.topic), text(will.payload)]),
    ...(password === undefined ? [] : [text('user'), text(password)]),
  )
}

export function subscribePacket(id: number, ...filters: [filter: string, qos: number][]): Buffer {
  const body = filters.flatMap(([filter, qos]) => [text(filter), Buffer.from([qos])])
  return packet(0x82, number16(id), Buffer.concat(body))
}

export function unsubscribePacket(id: number, ...filters: string[]): Buffer {
  return packet(0xa2, number16(id), Buffer.concat(filters.map(text)))
}

export function publishPacket(message: {
  topic: string
  payload: string
  qos: 0 | 1 | 2
  id?: number
  dup?: boolean
  retain?: boolean
}): Buffer {
  const { topic, payload, qos, id = 1, dup = false, retain = false } = message
  return packet(
    0x30 | (dup ? 8 : 0) | (qos << 1) | (retain ? 1 : 0),
    text(topic),
    ...(qos === 0 ? [] : [number16(id)]),
    Buffer.from(payload),
  )
}

export function acknowledgePacket(type: 'puback' | 'pubrec' | 'pubrel' | 'pubcomp', id: number): Buffer {
  return packet((packetTypes[type] << 4) | (type === 'pubrel' ? 2 : 0), number16(id))
}

/** What a PUBLISH says. */
export function publishedIn({ flags, body }: RawPacket) {
  const topicEnd = 2 + body.readUInt16BE(0)
  const qos = (flags >> 1) & 3
  const payloadStart = topicEnd + (qos === 0 ? 0 : 2)
  return {
    topic: body.toString('utf8', 2, topicEnd),
    payload: body.toString('utf8', payloadStart),
    qos,
    dup: (flags & 8) !== 0,
    retain: (flags & 1) !== 0,
    id: qos === 0 ? 0 : body.readUInt16BE(topicEnd),
  }
}

export const idIn = ({ body }: RawPacket): number => body.readUInt16BE(0)

function takePacket(bytes: Buffer): { packet: RawPacket; rest: Buffer } | undefined {
  let length = 0
  for (let index = 1; index < bytes.length; index += 1) {
    const byte = bytes[index] ?? 0
    length += (byte & 127) << (7 * (index - 1))
    if ((byte & 128) !== 0) continue
    const end = index + 1 + length
    if (bytes.length < end) return undefined
    const first = bytes[0] ?? 0
    const body = bytes.subarray(index + 1, end)
    return { packet: { type: first >> 4, flags: first & 15, body }, rest: bytes.subarray(end) }
  }
  return undefined
}

export interface RawClient {
  socket: Duplex
  send(...packets: Buffer[]): void
  /** The next packet that has not been asked for. Rejects when the connection has ended. */
  next(): Promise<RawPacket>
  /** The next one of this kind; it must be the next. */
  expect(type: keyof typeof packetTypes): Promise<RawPacket>
  hasEnded(): boolean
  /** Resolves when the connection has ended. */
  ended: Promise<unknown>
  /** Goes without a word. */
  vanish(): Promise<void>
}

async function openSocket(url: string): Promise<Duplex> {
  if (url.startsWith('ws:')) {
    const webSocket = new WebSocket(url, 'mqtt')
    await once(webSocket, 'open')
    const stream = createWebSocketStream(webSocket)
    webSocket.once('close', () => stream.destroy())
    return stream
  }
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  await once(socket, 'connect')
  return socket
}

/** Over TCP or WebSocket. */
export async function openRaw(context: TestContext, url: string): Promise<RawClient> {
  const socket = await openSocket(url)
  context.after(() => void socket.destroy())
  socket.on('error', () => undefined)
  const ended = new Promise((resolve) => socket.once('close', resolve))
  const arrived: RawPacket[] = []
  const waiting: { resolve: (packet: RawPacket) => void; reject: (error: Error) => void }[] = []
  let bytes: Buffer = Buffer.alloc(0)
  let over = false
  socket.on('data', (data) => {
    bytes = Buffer.concat([bytes, data])
    for (let taken = takePacket(bytes); taken !== undefined; taken = takePacket(bytes)) {
      bytes = taken.rest
      const first = waiting.shift()
      if (first === undefined) arrived.push(taken.packet)
      else first.resolve(taken.packet)
    }
  })
  void ended.then(() => {
    over = true
    for (const { reject } of waiting.splice(0)) reject(new Error('the connection has ended'))
  })

  function next(): Promise<RawPacket> {
    const first = arrived.shift()
    if (first !== undefined) return Promise.resolve(first)
    if (over) return Promise.reject(new Error('the connection has ended'))
    return new Promise((resolve, reject) => void waiting.push({ resolve, reject }))
  }

  return {
    socket,
    send: (...packets) => void socket.write(Buffer.concat(packets)),
    next,
    async expect(type) {
      const packet = await next()
      if (packet.type !== packetTypes[type])
        throw new Error(`${type} (${packetTypes[type]}) was expected, ${packet.type} came`)
      return packet
    },
    hasEnded: () => over,
    ended,
    async vanish() {
      socket.destroy()
      await ended
    },
  }
}

/** The same, connected. */
export async function connectRaw(
  context: TestContext,
  url: string,
  options: ConnectOptions,
): Promise<RawClient & { sessionPresent: boolean }> {
  const client = await openRaw(context, url)
  client.send(connectPacket(options))
  const { body } = await client.expect('connack')
  if (body[1] !== 0) throw new Error(`refused with return code ${body[1]}`)
  return { ...client, sessionPresent: body[0] === 1 }
}
