import { createDeferred, type Deferred } from '../../base/time/deferred.ts'
import { type Ask, createProbe, type Probe } from './probe.ts'
import type { Quarantine } from './quarantine.ts'

/** Messages that may wait for an external broker; then the oldest give way, and later ones are newer news. */
export const waitingMessagesLimit = 10_000
/** Bytes of payload that may wait. */
export const waitingBytesLimit = 32 * 1024 * 1024

/** Messages, and bytes of them, that wait to be sent before those who publish are asked to wait: far from the first that is lost. */
const backlogLimit = { messages: 2_000, bytes: 8 * 1024 * 1024 }

/** Bytes of a packet beside topic and payload: type, length, length of the topic, message id, no properties. */
const packetOverhead = 10

/**
 * Messages of QoS 0 that may be on their way to the socket, and bytes of their payloads after which no other goes, so that a
 * slow one fills the queue that is bounded.
 */
const writesLimit = { messages: 1_000, bytes: 4 * 1024 * 1024 }

export interface OutgoingMessage {
  topic: string
  payload: Buffer
  qos: 0 | 1 | 2
  retain: boolean
  /** Asked when it is to go, on the connection that it goes over, and again on each other one; false: it is lost. */
  permit?: () => boolean
  /** Full id of the plugin whose message it is. */
  publisher?: string | undefined
  /** It gives way to no other, however many wait: whoever pushes such ones pushes few at a time. */
  isKept?: boolean
}

/** Sends one message; calls back when it is done: written with QoS 0, acknowledged with the others. */
export type Send = (message: OutgoingMessage, done: (error?: Error) => void) => void

export interface OutgoingQueue {
  /** Sends it, or keeps it until there is a connection. `onSettled` comes when it was sent, or is lost. */
  push(message: OutgoingMessage, onSettled?: () => void): void
  /**
   * There is a connection, on which so many messages may await their acknowledgement, and a packet may have so
   * many bytes.
   */
  open(send: Send, ask: Ask, window: number, packetLimit?: number): void
  /** The connection is gone: what was not acknowledged will be sent again, before all others. */
  pause(): void
  /** Resolves when everything that was pushed before is done: sent as far as its QoS says, or lost. */
  settled(): Promise<void>
  /** Resolves when few messages wait to be sent, or the connection is gone; undefined when that is so now. */
  congested(): Promise<void> | undefined
  /** Bytes of payload that a message on this topic may have on the latest connection; undefined: as many as it wants. */
  payloadLimit(topic: string): number | undefined
  readonly waiting: number
}

interface Connection {
  send: Send
  probe: Probe
  window: number
  packetLimit: number
}

interface Entry {
  message: OutgoingMessage
  onSettled: () => void
}

/** Bytes of a packet with this topic beside its payload. */
const bytesBeside = (topic: string): number => Buffer.byteLength(topic) + packetOverhead

function packetBytes({ topic, payload }: OutgoingMessage): number {
  return payload.length + bytesBeside(topic)
}

/** Keeps the order of all messages, whatever their QoS, also across connections. */
export function createOutgoingQueue(
  quarantine: Quarantine,
  onDropped: () => void,
  onRefused: (topic: string, error: Error, bytes: number) => void,
): OutgoingQueue {
  let waiting: Entry[] = []
  let waitingBytes = 0
  let sent = new Set<Entry>()
  /** Bytes of payload of those with QoS 0. */
  let writtenBytes = 0
  /** How many of those await an acknowledgement. */
  let handshakes = 0
  let transmitting = false
  let caughtUp: Deferred<undefined> | undefined
  let connection: Connection | undefined
  /** Of the latest connection. */
  let latestLimit: number | undefined
  /** What is waited for to be done. */
  const awaited = new Set<{ rest: Set<Entry>; resolve: () => void }>()

  function finish(entry: Entry): void {
    entry.onSettled()
    for (const one of awaited) {
      if (!one.rest.delete(entry) || one.rest.size > 0) continue
      awaited.delete(one)
      one.resolve()
    }
  }

  /** It is lost, which its size may be the reason for. */
  function refuse(entry: Entry, error: Error): void {
    onRefused(entry.message.topic, error, packetBytes(entry.message))
    finish(entry)
  }

  function transmit(current: Connection): void {
    // A message may be done before the call that sends it returns.
    if (transmitting) return
    transmitting = true
    for (let entry = waiting[0]; entry !== undefined && connection === current; entry = waiting[0]) {
      const { message } = entry
      // The order counts more than speed: a full window holds back what needs none, too.
      const isFull = sent.size >= writesLimit.messages || writtenBytes >= writesLimit.bytes
      if (message.qos > 0 ? handshakes >= current.window : isFull) break
      const size = packetBytes(message)
      const admission = current.probe.admission(message, size)
      if (admission === undefined) break
      waiting.shift()
      waitingBytes -= message.payload.length
      if (message.permit?.() === false || admission === 'held') {
        finish(entry)
        continue
      }
      if (size > current.packetLimit) {
        refuse(entry, new Error(`it has ${size} bytes, and the broker takes ${current.packetLimit} at most`))
        continue
      }
      current.probe.sent(message, size, admission, message.qos > 0)
      sent.add(entry)
      if (message.qos > 0) handshakes += 1
      else writtenBytes += message.payload.length
      current.send(message, (error) => settle(current, entry, error))
    }
    transmitting = false
    if (connection === current) current.probe.ask()
    if (!isBehind()) release()
  }

  function isBehind(): boolean {
    return waiting.length > backlogLimit.messages || waitingBytes > backlogLimit.bytes
  }

  function release(): void {
    caughtUp?.resolve(undefined)
    caughtUp = undefined
  }

  function settle(current: Connection, entry: Entry, error: Error | undefined): void {
    // An answer on an old connection, for what has been sent again on a new one, is none.
    if (connection !== current || !sent.delete(entry)) return
    if (entry.message.qos > 0) handshakes -= 1
    else writtenBytes -= entry.message.payload.length
    current.probe.acknowledged(entry.message)
    if (error) refuse(entry, error)
    else finish(entry)
    transmit(current)
  }

  /** Drops the oldest until there is room, but never the latest. */
  function shorten(): void {
    const isTooMuch = (): boolean => waiting.length > waitingMessagesLimit || waitingBytes > waitingBytesLimit
    while (isTooMuch()) {
      const oldest = waiting.findIndex(({ message }) => message.isKept !== true)
      const entry = waiting[oldest]
      if (entry === undefined || oldest === waiting.length - 1) return
      waiting.splice(oldest, 1)
      waitingBytes -= entry.message.payload.length
      onDropped()
      finish(entry)
    }
  }

  return {
    push(message, onSettled = () => undefined) {
      waiting.push({ message, onSettled })
      waitingBytes += message.payload.length
      if (connection !== undefined) transmit(connection)
      shorten()
    },
    open(send, ask, window, packetLimit) {
      latestLimit = packetLimit
      const probe = createProbe(quarantine, ask, () => {
        if (connection === opened) transmit(opened)
      })
      const opened: Connection = { send, probe, window, packetLimit: packetLimit ?? Number.POSITIVE_INFINITY }
      connection = opened
      transmit(opened)
    },
    pause() {
      connection = undefined
      release()
      // QoS 0 means at most once: what has been written is not written again.
      const again = [...sent].filter((entry) => {
        if (entry.message.qos === 0) finish(entry)
        return entry.message.qos > 0
      })
      sent = new Set()
      writtenBytes = 0
      handshakes = 0
      waiting = [...again, ...waiting]
      for (const { message } of again) waitingBytes += message.payload.length
      shorten()
    },
    settled() {
      const rest = new Set([...sent, ...waiting])
      if (rest.size === 0) return Promise.resolve()
      return new Promise((resolve) => awaited.add({ rest, resolve }))
    },
    congested() {
      if (connection === undefined || !isBehind()) return undefined
      return (caughtUp ??= createDeferred()).promise
    },
    payloadLimit: (topic) =>
      latestLimit === undefined ? undefined : Math.max(0, latestLimit - bytesBeside(topic)),
    get waiting() {
      return waiting.length + sent.size
    },
  }
}
