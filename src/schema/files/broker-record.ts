import { crc32 } from 'node:zlib'
import Type from 'typebox'
import { createKindParser, type OfKinds } from '../parsing/kind-parser.ts'

/**
 * What the embedded broker keeps on disk: records of these kinds, each by itself. A record is four bytes of checksum
 * (CRC-32 of the rest), four bytes that tell the length of the head, the head as JSON, and the payload byte by byte.
 */

const Qos = Type.Union([Type.Literal(0), Type.Literal(1), Type.Literal(2)])
const MessageId = Type.Integer({ minimum: 1, maximum: 65_535 })

/** The heads by `kind`: the members besides that. */
const heads = {
  /** A message that is retained. What the host retains itself is not among them. */
  retained: {
    topic: Type.String(),
    qos: Qos,
    publisher: Type.Union([
      Type.Object({ kind: Type.Literal('plugin'), id: Type.String() }),
      Type.Object({ kind: Type.Literal('client'), address: Type.String() }),
    ]),
  },
  /** A session that outlives its connections. Of two, the one with the lower number was made first. */
  session: {
    client: Type.String(),
    number: Type.Integer(),
    subscriptions: Type.Array(Type.Object({ topic: Type.String(), qos: Qos })),
  },
  /** A message that waits for the client of a session, in the order of the numbers; with an id it has been sent. */
  queued: {
    client: Type.String(),
    number: Type.Integer(),
    topic: Type.String(),
    qos: Qos,
    messageId: Type.Optional(MessageId),
    /** It was retained when the client subscribed. */
    retain: Type.Optional(Type.Literal(true)),
  },
  /**
   * A message that has waited for several clients since it came: at the place of each is its id, or null when nothing waits for it here
   * any more, and its number is that of the first and its place together. Once it has been sent to a client, what waits is a record of
   * that client's own.
   */
  shared: {
    number: Type.Integer(),
    topic: Type.String(),
    qos: Qos,
    clients: Type.Array(Type.Union([Type.String(), Type.Null()])),
  },
  /** Of shared messages with a lower number none waits for this client, whatever they say themselves. */
  position: { client: Type.String(), number: Type.Integer() },
  /** In place of a message of QoS 2 that the client has: only its release is to be confirmed. */
  released: { client: Type.String(), number: Type.Integer(), messageId: MessageId },
  /** Messages of QoS 2 that came from a client and that it has not released. */
  unreleased: { client: Type.String(), messageIds: Type.Array(MessageId) },
  /** What is to be published when the client, or this host, has gone without a word. */
  will: {
    client: Type.String(),
    address: Type.String(),
    topic: Type.String(),
    qos: Qos,
    retain: Type.Boolean(),
  },
} as const

const parseHead = createKindParser(heads)

type Head<K extends keyof typeof heads> = Extract<OfKinds<typeof heads>, { kind: K }>
type WithPayload<T> = T & { payload: Buffer }
export type RetainedRecord = WithPayload<Head<'retained'>>
export type SessionRecord = Head<'session'>
export type QueuedRecord = WithPayload<Head<'queued'>>
export type SharedRecord = WithPayload<Head<'shared'>>
export type PositionRecord = Head<'position'>
export type ReleasedRecord = Head<'released'>
export type UnreleasedRecord = Head<'unreleased'>
export type WillRecord = WithPayload<Head<'will'>>
export type BrokerRecord =
  | RetainedRecord
  | SessionRecord
  | PositionRecord
  | QueuedRecord
  | ReleasedRecord
  | SharedRecord
  | UnreleasedRecord
  | WillRecord

const checksumBytes = 4
const lengthBytes = 4

export function encodeBrokerRecord(record: BrokerRecord): Buffer {
  const { payload, ...head } = { payload: Buffer.alloc(0), ...record }
  const text = Buffer.from(JSON.stringify(head))
  const start = checksumBytes + lengthBytes
  const bytes = Buffer.allocUnsafe(start + text.length + payload.length)
  bytes.writeUInt32LE(text.length, checksumBytes)
  text.copy(bytes, start)
  payload.copy(bytes, start + text.length)
  bytes.writeUInt32LE(crc32(bytes.subarray(checksumBytes)), 0)
  return bytes
}

/** Undefined: the bytes are damaged. The payload is a copy of its own. */
export function decodeBrokerRecord(bytes: Buffer): BrokerRecord | undefined {
  const start = checksumBytes + lengthBytes
  if (bytes.length < start || bytes.readUInt32LE(0) !== crc32(bytes.subarray(checksumBytes))) return undefined
  const end = start + bytes.readUInt32LE(checksumBytes)
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8', start, end))
  } catch {
    return undefined
  }
  const head = parseHead(value)
  if (!head.ok) return undefined
  const record = head.value
  switch (record.kind) {
    case 'session':
    case 'position':
    case 'released':
    case 'unreleased':
      return record
    default:
      return { ...record, payload: Buffer.from(bytes.subarray(end)) }
  }
}

/** Order in which a start reads them: sessions before what waits for them, a client's own before what is shared, wills at the end. */
const folders = {
  session: 'client',
  position: 'position',
  queued: 'queued',
  released: 'queued',
  retained: 'retained',
  shared: 'shared',
  unreleased: 'unreleased',
  will: 'will',
} as const satisfies Record<BrokerRecord['kind'], string>

/** Digits of the largest safe integer, so that the order of the keys is that of the numbers. */
const digits = String(Number.MAX_SAFE_INTEGER).length

/** Under which a record is kept. `name`: the client's id, the topic, or the number in a queue. */
export function brokerRecordKey(kind: BrokerRecord['kind'], name: string | number): string {
  return `${folders[kind]}/${typeof name === 'number' ? String(name).padStart(digits, '0') : name}`
}

/**
 * When it is written, among what has changed in the same time. What says that something has come, or has been sent, would be a loss
 * without the messages themselves; a shared message no longer names who has it in a record of its own.
 */
export function writingPhase(key: string): 'alone' | 'after' | 'last' {
  if (key.startsWith(`${folders.unreleased}/`) || key.startsWith(`${folders.position}/`)) return 'last'
  return key.startsWith(`${folders.shared}/`) ? 'after' : 'alone'
}

export function keyOfBrokerRecord(record: BrokerRecord): string {
  switch (record.kind) {
    case 'retained':
      return brokerRecordKey(record.kind, record.topic)
    case 'queued':
    case 'released':
    case 'shared':
      return brokerRecordKey(record.kind, record.number)
    case 'session':
    case 'position':
    case 'unreleased':
    case 'will':
      return brokerRecordKey(record.kind, record.client)
  }
}
