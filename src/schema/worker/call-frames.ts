import type { MessagePort } from 'node:worker_threads'
import type { PluginCall, Reference, SerializedValues } from './plugin-call.ts'
import type { UrgentMessage, WorkerMessage } from './worker-protocol.ts'
import { type PluginOperation, pluginOperations, serializedReferenceLimit } from './plugin-call-limits.ts'

/**
 * How calls between plugins and their answers cross between the host and a worker, one in a buffer, in both directions: as
 * objects each of them takes four times as long to be cloned. A header of 26 bytes, little-endian:
 *
 * | bytes | |
 * | ----- | --- |
 * | 1     | kind |
 * | 1     | operation |
 * | 1     | depth |
 * | 1     | 1: the caller does not wait |
 * | 4     | isolate |
 * | 4     | number of the question or of the call |
 * | 4     | owner of what is called |
 * | 4     | its handle |
 * | 2     | length of the caller's id |
 * | 4     | number of references |
 *
 * then the caller's id, the references (owner, handle, type in a byte, length of the plugin's id in two, and that id) and
 * the body. What a kind does not have is 0.
 */

/** What stands for none. */
const noOperation = pluginOperations[0]
const kinds = ['question', 'call', 'callAnswered', 'answer', 'cancel', 'failure'] as const
const types = ['table', 'function'] as const
const headerBytes = 26
const referenceBytes = 11
/** Bytes of a frame that travels as a text. */
const shortBytes = 4096
/** What is written or read of such a one, and used again for the next. */
const scratch = Buffer.alloc(shortBytes)

interface CallFrame {
  kind: (typeof kinds)[number]
  isolate: number
  number: number
  serialized: SerializedValues
  operation?: PluginOperation
  owner?: number
  handle?: number
  depth?: number
  background?: boolean
  /** Full id of the plugin that calls. */
  caller?: string
}

/**
 * What two workers say to each other on a link. `call`: with its arguments. `cancel`: nobody waits for the answer any more. `answer`: with the results. `failure`: the
 * body is the message, as text. Any other kind is none that a link carries. `number`: the caller's for the call.
 */
export type LinkMessage = Pick<CallFrame, 'kind' | 'number' | 'serialized' | 'operation' | 'depth'>

interface Port {
  postMessage(message: unknown, transfer?: Transferable[]): void
}

/** What goes over and is not copied. */
type Transferable = ArrayBuffer | MessagePort

/** A frame on its way: a text of bytes is cloned in a fraction of the time, bytes take no room in V8's heap. */
type SentFrame = string | Uint8Array<ArrayBuffer>

function post(
  port: Port,
  message: unknown,
  frame: CallFrame | undefined,
  transfer: Transferable[] = [],
): void {
  const sent = frame && writeCallFrame(frame)
  if (typeof sent === 'string') port.postMessage(sent)
  else if (sent !== undefined) port.postMessage(sent, [sent.buffer])
  else if (transfer.length > 0) port.postMessage(message, transfer)
  else port.postMessage(message)
}

// Each member by its name: spreading an object takes longer than all the rest.

function questionFrame(isolate: number, number: number, question: PluginCall): CallFrame {
  const { owner, handle, operation, depth, background = false, serialized } = question
  return { kind: 'question', isolate, number, owner, handle, operation, depth, background, serialized }
}

function callFrame(message: Extract<UrgentMessage, { kind: 'call' }>): CallFrame {
  const { isolate, call: number, caller, handle, operation, depth, serialized } = message
  return { kind: 'call', isolate, number, caller, handle, operation, depth, serialized }
}

/** Sends it, as a frame if it is a call of another plugin or the answer to one. */
export function postToHost(port: Port, message: WorkerMessage, transfer?: Transferable[]): void {
  let frame: CallFrame | undefined
  if (message.kind === 'question' && message.question.kind === 'callPlugin')
    frame = questionFrame(message.isolate, message.number, message.question)
  else if (message.kind === 'callAnswered' && message.outcome.ok) {
    const { isolate, call, outcome } = message
    frame = { kind: 'callAnswered', isolate, number: call, serialized: outcome.serialized }
  }
  post(port, message, frame, transfer)
}

/** The same for what the host says. */
export function postToWorker(port: Port, message: UrgentMessage, transfer?: Transferable[]): void {
  let frame: CallFrame | undefined
  if (message.kind === 'call') frame = callFrame(message)
  else if (message.kind === 'answer' && message.ok && isSerialized(message.value))
    frame = { kind: 'answer', isolate: message.isolate, number: message.number, serialized: message.value }
  post(port, message, frame, transfer)
}

/** The same for what one worker says to another. */
export function postToLink(port: Port, message: LinkMessage): void {
  const { kind, number, operation = noOperation, depth = 0, serialized } = message
  post(port, message, { kind, isolate: 0, number, operation, depth, serialized })
}

function isSerialized(value: unknown): value is SerializedValues {
  return typeof value === 'object' && value !== null && 'body' in value && value.body instanceof Uint8Array
}

/** What a worker has sent, for the schemas to look at. Throws `Error` for bytes that are no frame. */
export function readFromWorker(message: unknown): unknown {
  if (!isCallFrame(message)) return message
  const { kind, isolate, number, owner, handle, operation, depth, background, serialized } =
    readCallFrame(message)
  if (kind === 'callAnswered') return { kind, isolate, call: number, outcome: { ok: true, serialized } }
  const call = { kind: 'callPlugin', owner, handle, operation, depth, serialized }
  return { kind, isolate, number, question: background ? { ...call, background } : call }
}

/** What the host has sent. */
export function readFromHost(message: UrgentMessage | SentFrame): UrgentMessage {
  if (!isCallFrame(message)) return message
  const { kind, isolate, number, caller, handle, operation, depth, serialized } = readCallFrame(message)
  return kind === 'call'
    ? { kind, isolate, call: number, caller, handle, operation, depth, serialized }
    : { kind: 'answer', isolate, number, ok: true, value: serialized }
}

/** What another worker has sent; undefined for what is no frame. More has not been looked at. */
export function readFromLink(message: unknown): LinkMessage | undefined {
  try {
    return isCallFrame(message) ? readCallFrame(message) : undefined
  } catch {
    return undefined
  }
}

function writeCallFrame(frame: CallFrame): SentFrame {
  const { serialized, operation, owner = 0, handle = 0, depth = 0, caller = '' } = frame
  const { body, references } = serialized
  const callerBytes = caller === '' ? 0 : Buffer.byteLength(caller)
  let size = headerBytes + callerBytes + body.length
  for (const { plugin } of references) size += referenceBytes + Buffer.byteLength(plugin)
  const isShort = size <= shortBytes
  const buffer = isShort ? scratch : Buffer.from(new ArrayBuffer(size))
  buffer[0] = kinds.indexOf(frame.kind)
  buffer[1] = operation === undefined ? 0 : pluginOperations.indexOf(operation)
  buffer[2] = depth
  buffer[3] = frame.background === true ? 1 : 0
  buffer.writeUInt32LE(frame.isolate, 4)
  buffer.writeUInt32LE(frame.number, 8)
  buffer.writeUInt32LE(owner, 12)
  buffer.writeUInt32LE(handle, 16)
  buffer.writeUInt16LE(callerBytes, 20)
  buffer.writeUInt32LE(references.length, 22)
  let at = headerBytes
  if (callerBytes > 0) at += buffer.write(caller, at)
  for (const reference of references) at = writeReference(buffer, at, reference)
  buffer.set(body, at)
  return isShort ? buffer.toString('latin1', 0, size) : new Uint8Array(buffer.buffer)
}

function writeReference(buffer: Buffer, at: number, { owner, handle, type, plugin }: Reference): number {
  buffer.writeUInt32LE(owner, at)
  buffer.writeUInt32LE(handle, at + 4)
  buffer[at + 8] = types.indexOf(type)
  const length = buffer.write(plugin, at + referenceBytes)
  buffer.writeUInt16LE(length, at + 9)
  return at + referenceBytes + length
}

/** Whether a message is a frame: what its sender could still change while it is read is none. */
function isCallFrame(message: unknown): message is SentFrame {
  return (
    typeof message === 'string' || (message instanceof Uint8Array && message.buffer instanceof ArrayBuffer)
  )
}

function bytesOf(frame: SentFrame): Buffer {
  if (typeof frame !== 'string') return Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength)
  if (frame.length > shortBytes) throw new Error('a call of this length is no text')
  return scratch.subarray(0, scratch.write(frame, 0, 'latin1'))
}

/** Throws `Error` when it is none. */
function readCallFrame(frame: SentFrame): Required<CallFrame> {
  const buffer = bytesOf(frame)
  if (buffer.length < headerBytes) throw new Error('a call has no whole header')
  const kind = kinds[buffer.readUInt8(0)]
  const operation = pluginOperations[buffer.readUInt8(1)]
  if (kind === undefined || operation === undefined) throw new Error('a call has no known kind')
  const count = buffer.readUInt32LE(22)
  if (count > serializedReferenceLimit) throw new Error('a call has too many references')
  let at = headerBytes + buffer.readUInt16LE(20)
  if (at > buffer.length) throw new Error('a call is longer than its buffer')
  const caller = at === headerBytes ? '' : buffer.toString('utf8', headerBytes, at)
  const references: Reference[] = []
  for (let index = 0; index < count; index += 1) {
    // Throws when it is beyond the end.
    const end = at + referenceBytes + buffer.readUInt16LE(at + 9)
    const type = types[buffer.readUInt8(at + 8)]
    if (type === undefined || end > buffer.length) throw new Error('a reference is none')
    const plugin = buffer.toString('utf8', at + referenceBytes, end)
    references.push({ owner: buffer.readUInt32LE(at), handle: buffer.readUInt32LE(at + 4), type, plugin })
    at = end
  }
  // Of what is used again at once a copy.
  const body = typeof frame === 'string' ? new Uint8Array(buffer.subarray(at)) : frame.subarray(at)
  return {
    kind,
    operation,
    depth: buffer.readUInt8(2),
    background: buffer.readUInt8(3) !== 0,
    isolate: buffer.readUInt32LE(4),
    number: buffer.readUInt32LE(8),
    owner: buffer.readUInt32LE(12),
    handle: buffer.readUInt32LE(16),
    caller,
    serialized: { body, references },
  }
}
