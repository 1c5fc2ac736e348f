import { brokerRecordKey } from '../../schema/files/broker-record.ts'
import type { LogFields } from '../../base/log/log.ts'
import { isRequest } from '../../schema/manifest/topic-rights.ts'
import { subscriptionBytesLimits, subscriptionsPerClientLimit } from '../broker-limits.ts'
import { createSessionFilters } from './session-filters.ts'
import { createSession, freeMessageId, type Queued, releaseOf, type Session } from './session.ts'
import { createSessionReader } from './session-reader.ts'
import { createSessionRecords } from './session-records.ts'
import { createSharedMessage } from './shared-messages.ts'
import type {
  RetainedPacket,
  SessionSubscription,
  StoredPacket,
  StoredSubscription,
} from './stored-packet.ts'
import type { WriteBehind } from './write-behind.ts'

/** Sessions kept for clients that are away (`clean: false`); the oldest gives way. */
export const sessionsLimit = 200
/** Messages of QoS 1 and 2 that wait for one such client; the oldest gives way. */
export const sessionQueueLimit = 1_000
/** Bytes of payload that wait for one such client. */
const sessionQueueBytesLimit = 4 * 1024 * 1024

export interface BrokerSessionsSettings {
  /** First level(s) of the host's own topics. */
  root: string
  /** No lower number is given in this run: greater than all of earlier ones. */
  firstNumber: number
  /** Whether this client is connected now: its session does not give way. */
  isConnected: (clientId: string) => boolean
  disk: Pick<WriteBehind, 'set' | 'delete' | 'writes'>
  warn: (message: string, fields?: LogFields) => void
}

/** What is kept for clients with `clean: false`, connected or not: their subscriptions, and messages not yet confirmed. */
export function createBrokerSessions(settings: BrokerSessionsSettings) {
  const { root, isConnected, disk, warn } = settings
  /** The oldest first. */
  const sessions = new Map<string, Session>()
  const filters = createSessionFilters()
  let nextNumber = settings.firstNumber
  const records = createSessionRecords(disk, () => nextNumber)

  /** This number is taken. */
  function seen(number: number): void {
    nextNumber = Math.max(nextNumber, number + 1)
  }

  function open(client: string, number: number, isRead = false): Session {
    const session = createSession(client, number, isRead)
    sessions.set(client, session)
    seen(number)
    return session
  }

  function forget(session: Session): void {
    sessions.delete(session.client)
    for (const topic of session.subscriptions.keys()) filters.remove(session, topic)
    records.forget(session)
  }

  /** Makes room for `more` sessions; those of clients that are connected stay. */
  function makeRoom(more: number): void {
    for (const session of sessions.values()) {
      if (sessions.size + more <= sessionsLimit && filters.bytes <= subscriptionBytesLimits.clients) return
      if (isConnected(session.client)) continue
      forget(session)
      warn('The session of a client that is away was forgotten: the broker holds as many as it may')
    }
  }

  function sessionOf(client: string): Session {
    const present = sessions.get(client)
    if (present !== undefined) return present
    makeRoom(1)
    const session = open(client, nextNumber)
    records.keep(session)
    return session
  }

  function remove(session: Session, queued: Queued): void {
    // Mostly the oldest one: to take it off costs nothing, where a splice moves all others.
    if (session.queue[0] === queued) session.queue.shift()
    else session.queue.splice(session.queue.indexOf(queued), 1)
    session.queuedBytes -= queued.packet.payload.length
    if (queued.packet.messageId !== undefined) session.sent.delete(queued.packet.messageId)
    records.drop(session, queued)
  }

  function limitQueue(session: Session): void {
    while (session.queue.length > sessionQueueLimit || session.queuedBytes > sessionQueueBytesLimit) {
      const [oldest] = session.queue
      if (oldest !== undefined) remove(session, oldest)
      warn('A message for a client that is away was forgotten: too many wait for it')
    }
  }

  function noteSent(session: Session, queued: Queued, messageId: number): void {
    session.sent.set(messageId, queued)
    session.lastId = messageId
  }

  function append(session: Session, queued: Queued): void {
    session.queue.push(queued)
    session.queuedBytes += queued.packet.payload.length
    if (queued.packet.messageId !== undefined) noteSent(session, queued, queued.packet.messageId)
    seen(queued.number)
    if (queued.shared === undefined) records.keepQueued(session, queued)
  }

  /** With this id it is sent; whoever else shares it does so with another one. */
  function assign(session: Session, queued: Queued, messageId: number): void {
    const present = queued.packet.messageId
    if (present !== undefined) session.sent.delete(present)
    queued.packet = { ...queued.packet, messageId }
    noteSent(session, queued, messageId)
    records.keepQueued(session, queued)
    records.leaveShared(session, queued)
  }

  /** In the order of their arrival; what has been sent before says so. */
  const queueOf = (client: string): (StoredPacket & { dup: boolean })[] =>
    (sessions.get(client)?.queue ?? []).map(({ packet }) => ({
      ...packet,
      dup: packet.cmd === 'publish' && packet.messageId !== undefined,
    }))

  const reader = createSessionReader({ sessions, open, append, seen, filters, records, disk })

  return {
    /** Answers whether that changes anything; so does `forget`. */
    subscribe(client: string, subscription: StoredSubscription): boolean {
      const session = sessionOf(client)
      const { topic, qos } = subscription
      const held = session.subscriptions
      if (held.get(topic)?.qos === qos) return false
      if (!held.has(topic) && held.size >= subscriptionsPerClientLimit) return false
      filters.add(session, subscription)
      records.keep(session)
      makeRoom(0)
      return true
    },
    unsubscribe(client: string, gone: readonly string[]): void {
      const session = sessions.get(client)
      if (session === undefined) return
      for (const filter of gone) if (filters.remove(session, filter)) records.keep(session)
    },
    subscriptionsOf: (client: string): StoredSubscription[] =>
      [...(sessions.get(client)?.subscriptions.values() ?? [])].map(({ topic, qos }) => ({ topic, qos })),
    /** For whom a message of QoS 1 or 2 is kept until it is confirmed, and with which QoS; a client once. */
    waitingFor(topic: string): SessionSubscription[] {
      // Nobody gets these, and they may hold secrets.
      return isRequest(root, topic) ? [] : filters.waitingFor(topic)
    },
    cost: filters.cost,
    clientsWith: (filter: string): string[] =>
      [...sessions.values()]
        .filter(({ subscriptions }) => subscriptions.has(filter))
        .map(({ client }) => client),
    count(): { subsCount: number; clientsCount: number } {
      let subsCount = 0
      for (const { subscriptions } of sessions.values()) subsCount += subscriptions.size
      return { subsCount, clientsCount: sessions.size }
    },
    forget(client: string): boolean {
      const session = sessions.get(client)
      if (session !== undefined) forget(session)
      // One of an earlier run that could not be read yet.
      else disk.delete(brokerRecordKey('session', client))
      return session !== undefined
    },

    /** `payload`: not a slice of a larger buffer. */
    enqueue(
      clients: readonly string[],
      { topic, brokerId, brokerCounter, qos }: StoredPacket,
      payload: Buffer,
    ): void {
      const packet: StoredPacket = { cmd: 'publish', topic, payload, qos, retain: false }
      if (brokerId !== undefined) Object.assign(packet, { brokerId, brokerCounter })
      const waiting = clients.map(sessionOf)
      const number = nextNumber
      const shared =
        clients.length > 1
          ? createSharedMessage({ number, clients, isOnDisk: false }, packet, disk)
          : undefined
      for (const [place, session] of waiting.entries()) {
        append(session, { number: number + place, packet, shared })
        limitQueue(session)
      }
    },
    /**
     * A retained message is being sent to a client that has subscribed: answers the id with which it waits to be confirmed.
     * Undefined: so many wait that it does not.
     */
    sendingRetained(client: string, { topic, payload, qos }: RetainedPacket): number | undefined {
      const session = sessions.get(client)
      if (session === undefined || session.queue.length >= sessionQueueLimit) return undefined
      if (session.queuedBytes + payload.length > sessionQueueBytesLimit) return undefined
      const packet: StoredPacket = { cmd: 'publish', topic, payload, qos, retain: true }
      const queued = { number: nextNumber, packet }
      packet.messageId = freeMessageId(session, queued)
      append(session, queued)
      limitQueue(session)
      return packet.messageId
    },
    queueOf,
    /**
     * The same for a client that is back. Those of QoS 2 that have not been sent have an id now: with one that is on disk before, the client knows
     * a message that comes again after a kill.
     */
    takeUp(client: string): (StoredPacket & { dup: boolean })[] {
      const session = sessions.get(client)
      const packets = queueOf(client)
      for (const [place, queued] of session?.queue.entries() ?? []) {
        const packet = packets[place]
        if (!session || !packet || packet.qos !== 2 || packet.messageId !== undefined) continue
        packet.messageId = freeMessageId(session, queued)
        assign(session, queued, packet.messageId)
      }
      return packets
    },
    /** Takes out what has never been sent, in the order of its arrival. */
    takeUnsent(client: string): Pick<StoredPacket, 'topic' | 'payload' | 'qos'>[] {
      const session = sessions.get(client)
      const unsent = session?.queue.filter(({ packet }) => packet.messageId === undefined) ?? []
      if (session !== undefined) for (const queued of unsent) remove(session, queued)
      return unsent.map(({ packet: { topic, payload, qos } }) => ({ topic, payload, qos }))
    },
    /** Notes the message id with which a message is being sent; a free one, which `packet` then has. Answers whether it is another one. */
    sending(client: string, packet: StoredPacket): boolean {
      const session = sessions.get(client)
      const queued = session?.queue.findLast(
        (one) => one.packet.brokerCounter === packet.brokerCounter && one.packet.brokerId === packet.brokerId,
      )
      // A packet that has given way to newer ones is sent all the same; only its repetition is lost.
      if (session === undefined || queued === undefined || packet.messageId === undefined) return false
      packet.messageId = freeMessageId(session, queued, packet.messageId)
      if (queued.packet.messageId === packet.messageId) return false
      assign(session, queued, packet.messageId)
      return true
    },
    /** The client has the message of QoS 2: its release takes its place. Answers whether it has not before. */
    released(client: string, messageId: number): boolean {
      const session = sessions.get(client)
      const queued = session?.sent.get(messageId)
      if (session === undefined || queued === undefined || queued.packet.cmd === 'pubrel') return false
      session.queuedBytes -= queued.packet.payload.length
      queued.packet = releaseOf(messageId)
      records.keepQueued(session, queued)
      return true
    },
    /** The client has confirmed it. */
    confirmed(client: string, messageId: number | undefined): StoredPacket | undefined {
      const session = sessions.get(client)
      // Without an id it is none that has been sent, but one that came to the client by another of its filters.
      const queued = messageId === undefined ? undefined : session?.sent.get(messageId)
      if (session === undefined || queued === undefined) return undefined
      remove(session, queued)
      return queued.packet
    },

    /** What an earlier run has kept, as far as it would be taken today. Sessions come first. */
    restore: reader.restore,
    /** All that is on disk has been told. */
    restored(): void {
      const byAge = [...sessions.values()].sort((one, other) => one.number - other.number)
      sessions.clear()
      for (const session of byAge) {
        sessions.set(session.client, session)
        session.queue.sort((one, other) => one.number - other.number)
        limitQueue(session)
      }
      reader.end()
      makeRoom(0)
    },
    clear: () => sessions.clear(),
  }
}
