import type { Json } from '../base/json.ts'
import { approximateSize } from '../base/json-size.ts'
import type { HostMessage } from '../schema/worker-protocol.ts'
import type { Flow } from './flow.ts'

/** Bytes that a delivery takes besides its content, roughly. */
const deliveryOverhead = 128

/** Events and messages on their way into one isolate; one that is far behind loses what comes. */
export interface Deliveries {
  event(name: string, data: Json | undefined): void
  message(subscription: number, topic: string, payload: Uint8Array): void
}

export interface DeliveriesSettings {
  /** Number of the isolate. */
  isolate: number
  flow: Flow
  post(message: HostMessage): void
  monotonic(): number
  /** Milliseconds between two warnings that something was dropped, at least. */
  notice: number
  /** A line in the plugin's log. */
  warn(message: string): void
}

export function createDeliveries(settings: DeliveriesSettings): Deliveries {
  const { isolate, flow, post, monotonic, notice, warn } = settings
  let dropped = 0
  let toldAt = Number.NEGATIVE_INFINITY
  /** It has been said that something is dropped, and not yet how much. */
  let owesNumber = false

  function makeRoom(cost: number): boolean {
    if (!flow.takeRoom(cost)) {
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

  return {
    event(name, data) {
      const cost = deliveryOverhead + name.length + approximateSize(data)
      if (!makeRoom(cost)) return
      post({ kind: 'deliverEvent', isolate, name, cost, ...(data === undefined ? {} : { data }) })
    },
    message(subscription, topic, payload) {
      const cost = deliveryOverhead + topic.length + payload.byteLength
      if (!makeRoom(cost)) return
      // A copy of its own: a view would take its whole buffer along, which may be the broker's.
      const bytes = new Uint8Array(payload)
      post({ kind: 'deliverMessage', isolate, subscription, topic, payload: bytes, cost })
    },
  }
}
