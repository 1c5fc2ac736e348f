import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'

/** The MQTT side of the host, whichever broker carries it. */

export interface BusMessage {
  topic: string
  payload: Uint8Array
  qos: 0 | 1 | 2
  /** The message was retained by the broker before the subscription was made. */
  retained: boolean
}

export interface BusSubscription {
  close(): Promise<void>
}

export interface Bus {
  /** `mqtt://…` address at which clients reach the broker. */
  readonly url: string
  /**
   * Publishes with the host's own rights. Messages leave in the order of the calls, also of different QoS
   * and retain (aedes would drop a retained message that a later one overtakes).
   */
  publish(
    topic: string,
    payload: Uint8Array | string,
    options?: { qos?: 0 | 1 | 2; retain?: boolean },
  ): Promise<void>
  /** Subscribes with the host's own rights. Matching retained messages come first. */
  subscribe(filter: string, handler: (message: BusMessage) => void): Promise<BusSubscription>
  /** Takes over an HTTP upgrade to MQTT over WebSocket. */
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  /** Whether messages can be sent now. */
  readonly connected: boolean
  /** Clients connected to the embedded broker. */
  readonly clients: number
  close(): Promise<void>
}
