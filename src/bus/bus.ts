import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'

/** The MQTT side of the host, whichever broker carries it. */

export interface BusMessage {
  topic: string
  /** Byte by byte as published; the subscriber's own copy, unless it subscribed with `immediate`. */
  payload: Uint8Array
  qos: 0 | 1 | 2
  /** The message was retained by the broker before the subscription was made. */
  retained: boolean
  /** Full id of the plugin of this host whose message it is; absent: nobody's, or the broker does not tell. */
  publisher?: string
  /** Under which id a client of the embedded broker has sent it; absent: no client has, it has none, or the broker does not tell. */
  client?: string
}

export interface BusSubscription {
  /** From the call on, the handler is not called any more. */
  close(): Promise<void>
}

export interface PublishOptions {
  qos?: 0 | 1 | 2
  retain?: boolean
  /** Full id of the plugin whose message it is; absent: the host's own. */
  publisher?: string
  /** Full id of the plugin that the host's own message is about, where its topic does not say so: it is lost once another host has it. */
  about?: string
}

/** Publishes one message on the topic for which it was made. */
export type Sender = (payload: Uint8Array, options: Required<Pick<PublishOptions, 'qos' | 'retain'>>) => void

/** Of one message. */
export interface Delivery {
  /** Asked when it is to go, on each connection; false: it goes no further. */
  isWanted(): boolean
  /**
   * The broker has acknowledged it, or will never take it, which is logged; or it was not wanted. May be called before the
   * call that publishes it returns, and never when the bus was closed before, or may not speak any more.
   */
  done(): void
}

/** The plugin that caused a message, to be told with it and charged for what follows from it in this host. */
export interface Cause {
  /** Full id. */
  readonly plugin: string
  /** The message has reached one more of the host's subscriptions. */
  reached(): void
}

export interface SubscribeOptions {
  /**
   * The handler is called from within the publication, and the payload is its own only until it returns: for one that
   * only copies the message elsewhere. It must not publish.
   */
  immediate?: boolean
  /** Full id of the plugin that subscribes; absent: the host. */
  plugin?: string
  /**
   * With which QoS messages come at most; absent: 2. For a look at what is retained it is 0: an external broker drops what exceeds its
   * queue for a subscriber who acknowledges. All that the host has subscribed to with the same filter get the highest.
   */
  qos?: 0 | 2
}

export interface Bus {
  /** Whether the broker is in this process. */
  readonly kind: 'embedded' | 'external'
  /** `mqtt://…` address at which clients reach the broker. */
  readonly url: string
  /**
   * Publishes with the host's own rights. Messages leave in the order of the calls, also of different QoS
   * and retain. Resolves when the broker has taken the message, not when every subscriber has it. Rejects
   * with a `Problem` when the topic cannot be published to, or when the bus is closed.
   */
  publish(topic: string, payload: Uint8Array | string, options?: PublishOptions): Promise<void>
  /**
   * The same for many messages on one topic, which is checked once; throws the `Problem`. The function that it answers
   * has no promise: what cannot be published is logged. Nobody changes the payload after the call. `publisher`: as in
   * `PublishOptions`.
   */
  prepare(topic: string, publisher?: string): Sender
  /**
   * Publishes with QoS 1, for somebody who has to know what an external broker has taken. Until it is done the message is kept
   * over all connections, and gives way to no other: only few may be under way at a time. Throws as `prepare`. The embedded
   * broker, of which nobody has to ask, has none.
   */
  deliver?(topic: string, payload: string, delivery: Delivery): void
  /**
   * Resolves when an external broker has acknowledged all that was published before, which `publish` does not wait for, or will
   * never take it; not while it does not answer, nor once the bus is closed. The embedded broker, of which nobody has to ask, has none.
   */
  settled?(): Promise<void>
  /**
   * Bytes of payload that an external broker takes of a message on this topic, as it said when it was connected last; undefined: it
   * did not say, as one of MQTT 3.1.1 cannot. The embedded broker, which takes what the host has, has none.
   */
  payloadLimit?(topic: string): number | undefined
  /** Runs `task`; what it publishes meanwhile is its cause's. An external broker does not say what follows. */
  causedBy(cause: Cause, task: () => void): void
  /**
   * Subscribes with the host's own rights. Matching retained messages come first. Two subscriptions that
   * match both get the message. The handler is called after the publication, in a turn of its own, unless it is to be
   * called immediately, and what it throws is logged. Rejects with a `Problem` when the filter is not one.
   */
  subscribe(
    filter: string,
    handler: (message: BusMessage) => void,
    options?: SubscribeOptions,
  ): Promise<BusSubscription>
  /**
   * Resolves when those who read what the host publishes have caught up: clients that read more slowly than it comes,
   * an external broker, the host's own subscriptions. Undefined: nobody is behind.
   */
  congested(): Promise<void> | undefined
  /** Whether what is retained there may be this plugin's. An external broker does not say whose it is. */
  mayBeRetainedBy(plugin: string, topic: string): boolean
  /** Topics on which something is retained, but for the broker's own. An external broker does not say. */
  retainedTopics(): Iterable<string>
  /** What plugins have retained, with the bytes of the payloads. An external broker does not say. */
  retainedByPlugins(): Iterable<{ plugin: string; topic: string; payload: number }>
  /** Takes over an HTTP upgrade to MQTT over WebSocket. Throws the `Problem` of one that it does not take. */
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  /**
   * Called after every connection to an external broker from now on: it may have lost what it retained, and
   * what waited for it may have been too much to keep.
   * The embedded broker never calls. Returns the way to stop.
   */
  onReconnect(listener: () => void): () => void
  /** Whether messages can be sent now. */
  readonly connected: boolean
  /** Why there is no connection to an external broker, and what to do; undefined: there is one, or it is not known yet. */
  readonly fault?: string | undefined
  /** Clients connected to the embedded broker. */
  readonly clients: number
  /** Why the embedded broker keeps in memory alone what is to survive a restart; `lasting`: for as long as it runs. */
  readonly memoryOnly?: { reason: string; lasting: boolean } | undefined
  /** Clients that the embedded broker refused because of their password. */
  readonly wrongPasswords?: number
  /** Messages since the start: from clients (or the external broker) to here, and of the host's own. */
  readonly messages: { received: number; published: number }
  /** Says `offline`, ends every connection and stops listening. Idempotent. */
  close(): Promise<void>
}

/** A bus that has been made but does nothing until it is started. */
export interface StartableBus extends Bus {
  /** Resolves when clients can connect, or the connection is being made. Throws an Error that says what to do. */
  start(): Promise<void>
}
