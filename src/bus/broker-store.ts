import { Readable } from 'node:stream'
import type { LogFields } from '../base/log.ts'
import { maySubscribe } from '../schema/topic-rights.ts'
import { filterMatches, hasWildcard } from '../base/topic-filter.ts'
import type { Publisher, RetainedLedger } from './retained-ledger.ts'

/**
 * What the embedded broker remembers: retained messages, sessions that outlive a connection, wills. It is
 * the broker's persistence, and replaces the one that comes with it for two reasons:
 *
 * - Storing is synchronous. The broker numbers a message first and stores it then; with a promise in
 *   between, a later message overtakes a retained one, which subscribers then discard as a duplicate.
 * - Everything is bounded. Clients are not trusted, and each of these grows with what they send.
 */

/**
 * Sessions kept for clients that are away (`clean: false`), and clients that are away of which is kept what they
 * have not released; the oldest gives way.
 */
export const sessionsLimit = 200
/** Messages of QoS 1 and 2 that wait for one such client; the oldest gives way. */
export const sessionQueueLimit = 1_000
/** Bytes of payload that wait for one such client. */
export const sessionQueueBytesLimit = 4 * 1024 * 1024

/** A packet as the broker hands it over; acknowledgements in a queue have no topic. */
export interface StoredPacket {
  cmd: string
  topic: string
  payload: Buffer
  qos: 0 | 1 | 2
  retain: boolean
  brokerId?: string
  brokerCounter?: number
  messageId?: number | undefined
}

/** Bytes of payload; an acknowledgement has none. */
function lengthOf({ payload }: { payload?: Buffer }): number {
  return payload?.length ?? 0
}

export interface StoredSubscription {
  topic: string
  qos: 0 | 1 | 2
  rh?: number
  rap?: boolean
  nl?: boolean
}

interface ClientKey {
  id: string
}

interface Session {
  subscriptions: Map<string, StoredSubscription>
  queue: StoredPacket[]
  queuedBytes: number
}

/** Calls back at once, unlike a promise. The broker uses nothing but `then`. */
function settled<T>(value: T): PromiseLike<T> {
  return {
    // biome-ignore lint/suspicious/noThenProperty: the broker expects a promise here, and must not wait a turn
    then<R>(onSettled?: ((value: T) => R | PromiseLike<R>) | null): PromiseLike<R> {
      const result = onSettled?.(value)
      return settled(result as R)
    },
  }
}

export interface BrokerStoreSettings {
  /** Says for which retained messages there is room. */
  ledger: RetainedLedger
  publisherOf: (packet: StoredPacket) => Publisher
  /** Whether this client is connected now: its session does not give way. */
  isConnected: (clientId: string) => boolean
  warn: (message: string, fields?: LogFields) => void
}

export type BrokerStore = ReturnType<typeof createBrokerStore>

export function createBrokerStore({ ledger, publisherOf, isConnected, warn }: BrokerStoreSettings) {
  const retained = new Map<string, StoredPacket>()
  const sessions = new Map<string, Session>()
  const incoming = new Map<string, Map<number, true>>()
  /** Clients that are away and have such messages; the one that went first is first. */
  const unreleased = new Set<string>()
  const wills = new Map<string, object>()

  /** Without room the older value of the topic goes all the same: it is not true any more. */
  function keepRetained(packet: StoredPacket): void {
    const { topic } = packet
    retained.delete(topic)
    if (lengthOf(packet) === 0) {
      ledger.free(topic)
      return
    }
    const publisher = publisherOf(packet)
    if (!ledger.keep(topic, lengthOf(packet), publisher)) {
      warn('A message was delivered but not retained: its publisher has as many retained as it may', {
        publisher,
        topic,
      })
      return
    }
    // Copied: what came from the network is a slice of a much larger buffer.
    retained.set(topic, { ...packet, payload: Buffer.from(packet.payload) })
  }

  function* retainedMatching(filters: readonly string[]): Generator<StoredPacket> {
    const wildcards = filters.filter(hasWildcard)
    for (const filter of new Set(filters)) {
      const packet = hasWildcard(filter) ? undefined : retained.get(filter)
      if (packet !== undefined && !wildcards.some((other) => filterMatches(other, filter))) yield packet
    }
    if (wildcards.length === 0) return
    for (const [topic, packet] of retained) {
      if (wildcards.some((filter) => filterMatches(filter, topic))) yield packet
    }
  }

  /**
   * For the broker, which sends these one by one and reads ahead: each tells what is retained at the moment it
   * is sent. Otherwise a subscriber could get a new message first, and the one that it replaced afterwards.
   */
  function* retainedViews(filters: readonly string[]): Generator<object> {
    for (const { cmd, topic } of retainedMatching(filters)) {
      yield {
        cmd,
        topic,
        get qos() {
          return retained.get(topic)?.qos ?? 0
        },
        get payload() {
          return retained.get(topic)?.payload ?? Buffer.alloc(0)
        },
      }
    }
  }

  function sessionOf(clientId: string): Session {
    const present = sessions.get(clientId)
    if (present !== undefined) return present
    if (sessions.size >= sessionsLimit) {
      for (const other of sessions.keys()) {
        if (isConnected(other)) continue
        sessions.delete(other)
        warn('The session of a client that is away was forgotten: the broker holds as many as it may')
        break
      }
    }
    const session: Session = { subscriptions: new Map(), queue: [], queuedBytes: 0 }
    sessions.set(clientId, session)
    return session
  }

  function removeFromQueue(session: Session, index: number): StoredPacket | undefined {
    const [packet] = session.queue.splice(index, 1)
    if (packet !== undefined) session.queuedBytes -= lengthOf(packet)
    return packet
  }

  function enqueue(clientId: string, packet: StoredPacket): void {
    const session = sessionOf(clientId)
    session.queue.push({ ...packet })
    session.queuedBytes += lengthOf(packet)
    while (session.queue.length > sessionQueueLimit || session.queuedBytes > sessionQueueBytesLimit) {
      removeFromQueue(session, 0)
      warn('A message for a client that is away was forgotten: too many wait for it')
    }
  }

  return {
    /** Retained messages that a filter matches, as they are now. */
    retainedMatching,
    clientIsBack: (clientId: string): void => void unreleased.delete(clientId),
    /** What it has sent and not released is kept for as many clients as there may be sessions. */
    clientHasGone(clientId: string): void {
      if (!incoming.has(clientId)) return
      unreleased.add(clientId)
      const [oldest] = unreleased
      if (unreleased.size <= sessionsLimit || oldest === undefined) return
      unreleased.delete(oldest)
      incoming.delete(oldest)
    },

    // What follows is called by the broker. It insists on an async function here.
    async setup(): Promise<void> {},
    async destroy(): Promise<void> {
      for (const held of [retained, sessions, incoming, unreleased, wills]) held.clear()
    },

    storeRetained(packet: StoredPacket): PromiseLike<void> {
      keepRetained(packet)
      return settled(undefined)
    },
    createRetainedStream: (filter: string): Readable => Readable.from(retainedViews([filter])),
    createRetainedStreamCombi: (filters: string[]): Readable => Readable.from(retainedViews(filters)),

    async addSubscriptions(client: ClientKey, subscriptions: StoredSubscription[]): Promise<void> {
      const session = sessionOf(client.id)
      // The broker names all of a request, also those that were refused.
      for (const subscription of subscriptions) {
        if (maySubscribe(subscription.topic)) session.subscriptions.set(subscription.topic, subscription)
      }
    },
    async removeSubscriptions(client: ClientKey, filters: string[]): Promise<void> {
      const session = sessions.get(client.id)
      for (const filter of filters) session?.subscriptions.delete(filter)
    },
    async subscriptionsByClient(client: ClientKey): Promise<StoredSubscription[]> {
      return [...(sessions.get(client.id)?.subscriptions.values() ?? [])].map((one) => ({ ...one }))
    },
    async cleanSubscriptions(client: ClientKey): Promise<void> {
      sessions.delete(client.id)
    },
    /** One entry a client, however many of its filters match. */
    subscriptionsByTopic(topic: string): PromiseLike<(StoredSubscription & { clientId: string })[]> {
      const matching: (StoredSubscription & { clientId: string })[] = []
      for (const [clientId, session] of sessions) {
        for (const subscription of session.subscriptions.values()) {
          if (subscription.qos === 0 || !filterMatches(subscription.topic, topic)) continue
          matching.push({ ...subscription, clientId })
          break
        }
      }
      return settled(matching)
    },
    async countOffline(): Promise<{ subsCount: number; clientsCount: number }> {
      let subsCount = 0
      for (const session of sessions.values()) subsCount += session.subscriptions.size
      return { subsCount, clientsCount: sessions.size }
    },

    async outgoingEnqueue({ clientId }: { clientId: string }, packet: StoredPacket): Promise<void> {
      enqueue(clientId, packet)
    },
    outgoingEnqueueCombi(subscriptions: { clientId: string }[], packet: StoredPacket): PromiseLike<void> {
      for (const { clientId } of subscriptions) enqueue(clientId, packet)
      return settled(undefined)
    },
    /** Notes the message id of a packet that is being sent, or replaces it by its acknowledgement. */
    async outgoingUpdate(client: ClientKey, packet: StoredPacket): Promise<void> {
      const session = sessions.get(client.id)
      if (session === undefined) return
      for (const [index, queued] of session.queue.entries()) {
        if (queued.brokerId !== undefined && queued.brokerId === packet.brokerId) {
          if (queued.brokerCounter !== packet.brokerCounter) continue
          queued.messageId = packet.messageId
          return
        }
        if (packet.messageId !== undefined && queued.messageId === packet.messageId) {
          session.queuedBytes -= lengthOf(queued)
          session.queue[index] = packet
          return
        }
      }
      // A packet that has given way to newer ones is sent all the same; only its repetition is lost.
    },
    async outgoingClearMessageId(client: ClientKey, packet: StoredPacket): Promise<StoredPacket | undefined> {
      const session = sessions.get(client.id)
      if (session === undefined) return undefined
      const index = session.queue.findIndex(({ messageId }) => messageId === packet.messageId)
      return index === -1 ? undefined : removeFromQueue(session, index)
    },
    outgoingStream(client: ClientKey): Readable {
      return Readable.from([...(sessions.get(client.id)?.queue ?? [])])
    },

    /** Only that it has arrived: whoever repeats a message of QoS 2 is answered without its content. */
    async incomingStorePacket(client: ClientKey, packet: { messageId: number }): Promise<void> {
      const ofClient = incoming.get(client.id) ?? new Map<number, true>()
      incoming.set(client.id, ofClient.set(packet.messageId, true))
    },
    async incomingGetPacket(client: ClientKey, packet: { messageId: number }): Promise<true> {
      if (incoming.get(client.id)?.has(packet.messageId) !== true) throw new Error('no such packet')
      return true
    },
    async incomingDelPacket(client: ClientKey, packet: { messageId: number }): Promise<void> {
      const ofClient = incoming.get(client.id)
      if (ofClient?.delete(packet.messageId) !== true) throw new Error('no such packet')
      if (ofClient.size === 0) incoming.delete(client.id)
    },
    async cleanIncoming(client: ClientKey): Promise<void> {
      incoming.delete(client.id)
      unreleased.delete(client.id)
    },

    async putWill(client: ClientKey, will: object): Promise<void> {
      wills.set(client.id, will)
    },
    async getWill(client: ClientKey): Promise<object | undefined> {
      return wills.get(client.id)
    },
    async delWill(client: ClientKey): Promise<object | undefined> {
      const will = wills.get(client.id)
      wills.delete(client.id)
      return will
    },
    /** Wills that other brokers left behind; there are no others. */
    streamWill: (): Readable => Readable.from([]),
    getClientList(topic: string): Readable {
      return Readable.from(
        [...sessions].filter(([, session]) => session.subscriptions.has(topic)).map(([clientId]) => clientId),
      )
    },
  }
}
