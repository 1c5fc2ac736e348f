import {
  type ConnectionFrameKind,
  createFrameWriter,
  type TriggerFrameKind,
} from '../../schema/worker/message-frames.ts'
import type { HostMessage } from '../../schema/worker/worker-protocol.ts'
import type { Flow } from './flow.ts'

/** Bytes that are gathered before they are sent within the same turn of the event loop. */
const gatheredLimit = 64 * 1024

/**
 * Events and messages on their way into one isolate, all of a turn in one buffer; one that is far behind loses what comes.
 * What connections bring is not lost: they are paused (`open-connections.ts`).
 */
export interface Deliveries {
  /** `data`: JSON. */
  event(name: string, data: Uint8Array, from?: string): void
  message(subscription: number, topic: string, payload: Uint8Array): void
  trigger(kind: TriggerFrameKind, number: number, name: string, payload: Uint8Array): void
  connection(kind: ConnectionFrameKind, connection: number, name: string, payload: Uint8Array | string): void
  /** Nothing is sent any more. */
  close(): void
}

export interface DeliveriesSettings {
  /** Number of the isolate. */
  isolate: number
  flow: Flow
  post(message: HostMessage, transfer: ArrayBuffer[]): void
  monotonic(): number
  /** Milliseconds between two warnings that something was dropped, at least. */
  notice: number
  /** A line in the plugin's log. */
  warn(message: string): void
}

export function createDeliveries(settings: DeliveriesSettings): Deliveries {
  const { isolate, flow, post, monotonic, notice, warn } = settings
  const writer = createFrameWriter()
  let scheduled: NodeJS.Immediate | undefined
  let dropped = 0
  let toldAt = Number.NEGATIVE_INFINITY
  /** It has been said that something is dropped, and not yet how much. */
  let owesNumber = false
  let closed = false

  function hasRoom(): boolean {
    if (!flow.hasRoom()) {
      dropped += 1
      if (owesNumber || monotonic() - toldAt < notice) return false
      toldAt = monotonic()
      owesNumber = true
      warn('events and messages are dropped: the plugin handles them more slowly than they come')
      return false
    }
    if (!owesNumber) return true
    warn(`${dropped} events and messages were dropped`)
    dropped = 0
    owesNumber = false
    return true
  }

  function send(): void {
    scheduled = undefined
    if (closed || writer.length === 0) return
    const frames = writer.take()
    post({ kind: 'deliver', isolate, frames }, [frames.buffer])
  }

  function sent(bytes: number): void {
    flow.sent(bytes)
    sendSoon()
  }

  function sendSoon(): void {
    if (writer.length >= gatheredLimit) send()
    else scheduled ??= setImmediate(send)
  }

  return {
    event(name, data, from) {
      if (hasRoom()) sent(writer.write('event', name, data, { foreignCaller: from }))
    },
    trigger(kind, number, name, payload) {
      if (hasRoom()) sent(writer.write(kind, name, payload, { subscription: number }))
    },
    message(subscription, topic, payload) {
      if (hasRoom()) sent(writer.write('message', topic, payload, { subscription }))
    },
    connection(kind, connection, name, payload) {
      if (closed) return
      writer.write(kind, name, payload, { subscription: connection })
      sendSoon()
    },
    close() {
      closed = true
    },
  }
}
