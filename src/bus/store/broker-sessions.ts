import type { LogFields } from '../../base/log/log.ts'
import {
  brokerRecordKey,
  encodeBrokerRecord,
  type QueuedRecord,
  type ReleasedRecord,
  type SessionRecord,
} from '../../schema/files/broker-record.ts'
import { isRequest, maySubscribe } from '../../schema/manifest/topic-rights.ts'
import { subscriptionBytesLimits, subscriptionsPerClientLimit } from '../broker-limits.ts'
import { createSessionFilters } from './session-filters.ts'
import { createSession, freeMessageId, type Queued, releaseOf, type Session } from './session.ts'
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

/** In place of the broker's id, for what an earlier run has kept. Its number is unique by itself. */
const restoredBrokerId = 'restored'

export interface BrokerSessionsSettings {
  /** First level(s) of the host's own topics. */
  root: string
  /** No lower number is given in this run: greater than all of earlier ones. */
  firstNumber: number
  /** Whether this client is connected now: its session does not give way. */
  isConnected: (clientId: string) => boolean
  disk: Pick<WriteBehind, 'set' | 'delete'>
  warn: (message: string, fields?: LogFields) => void
}

/** What is kept for clients with `clean: false`, connected or not: their subscriptions, and messages not yet confirmed. */
export function createBrokerSessions(settings: BrokerSessionsSettings) {
  const { root, isConnected, disk, warn } = settings
  /** The oldest first. */
  const sessions = new Map<string, Session>()
  const filters = createSessionFilters()
  let nextNumber = settings.firstNumber

  function keep(session: Session): void {
    const { client, number, subscriptions } = session
    disk.set(brokerRecordKey('session', client), () =>
      encodeBrokerRecord({
        kind: 'session',
        client,
        number,
        subscriptions: [...subscriptions.values()].map(({ topic, qos }) => ({ topic, qos })),
      }),
    )
  }

  function keepQueued({ client }: Session, queued: Queued): void {
    const { number } = queued
    disk.set(brokerRecordKey('queued', number), () => {
      const { cmd, topic, qos, payload, retain, messageId } = queued.packet
      if (cmd !== 'publish' && messageId !== undefined)
        return encodeBrokerRecord({ kind: 'released', client, number, messageId })
      const sent = messageId === undefined ? {} : { messageId }
      const flag = retain ? { retain } : {}
      return encodeBrokerRecord({ kind: 'queued', client, number, topic, qos, ...sent, ...flag, payload })
    })
  }

  function open(client: string, number: number): Session {
    const session = createSession(client, number)
    sessions.set(client, session)
    nextNumber = Math.max(nextNumber, number + 1)
    return session
  }

  function forget(session: Session): void {
    sessions.delete(session.client)
    for (const topic of session.subscriptions.keys()) filters.remove(session, topic)
    disk.delete(brokerRecordKey('session', session.client))
    for (const { number } of session.queue) disk.delete(brokerRecordKey('queued', number))
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
    keep(session)
    return session
  }

  function remove(session: Session, queued: Queued): void {
    // Mostly the oldest one: to take it off costs nothing, where a splice moves all others.
    if (session.queue[0] === queued) session.queue.shift()
    else session.queue.splice(session.queue.indexOf(queued), 1)
    session.queuedBytes -= queued.packet.payload.length
    if (queued.packet.messageId !== undefined) session.sent.delete(queued.packet.messageId)
    disk.delete(brokerRecordKey('queued', queued.number))
  }

  function append(session: Session, queued: Queued): void {
    session.queue.push(queued)
    session.queuedBytes += queued.packet.payload.length
    if (queued.packet.messageId !== undefined) session.sent.set(queued.packet.messageId, queued)
    nextNumber = Math.max(nextNumber, queued.number + 1)
    keepQueued(session, queued)
    while (session.queue.length > sessionQueueLimit || session.queuedBytes > sessionQueueBytesLimit) {
      const [oldest] = session.queue
      if (oldest !== undefined) remove(session, oldest)
      warn('A message for a client that is away was forgotten: too many wait for it')
    }
  }

  return {
    subscribe(client: string, subscription: StoredSubscription): void {
      const session = sessionOf(client)
      const { topic, qos } = subscription
      const held = session.subscriptions
      if (held.get(topic)?.qos === qos) return
      if (!held.has(topic) && held.size >= subscriptionsPerClientLimit) return
      filters.add(session, subscription)
      keep(session)
      makeRoom(0)
    },
    unsubscribe(client: string, gone: readonly string[]): void {
      const session = sessions.get(client)
      if (session === undefined) return
      for (const filter of gone) if (filters.remove(session, filter)) keep(session)
    },
    subscriptionsOf: (client: string): StoredSubscription[] =>
      [...(sessions.get(client)?.subscriptions.values() ?? [])].map(({ topic, qos }) => ({ topic, qos })),
    /** For whom a message of QoS 1 or 2 is kept until it is confirmed, and with which QoS; a client once. */
    waitingFor(topic: string): SessionSubscription[] {
      // Nobody gets these, and they may hold secrets.
      return isRequest(root, topic) ? [] : filters.waitingFor(topic)
    },
    effort: filters.effort,
    clientsWith: (filter: string): string[] =>
      [...sessions.values()]
        .filter(({ subscriptions }) => subscriptions.has(filter))
        .map(({ client }) => client),
    count(): { subsCount: number; clientsCount: number } {
      let subsCount = 0
      for (const { subscriptions } of sessions.values()) subsCount += subscriptions.size
      return { subsCount, clientsCount: sessions.size }
    },
    forget(client: string): void {
      const session = sessions.get(client)
      if (session !== undefined) forget(session)
      // One of an earlier run that could not be read yet.
      else disk.delete(brokerRecordKey('session', client))
    },

    /** `payload`: not a slice of a larger buffer. */
    enqueue(client: string, { topic, brokerId, brokerCounter, qos }: StoredPacket, payload: Buffer): void {
      const packet: StoredPacket = { cmd: 'publish', topic, payload, qos, retain: false }
      if (brokerId !== undefined) Object.assign(packet, { brokerId, brokerCounter })
      append(sessionOf(client), { number: nextNumber, packet })
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
      packet.messageId = freeMessageId(session, queued, 1)
      append(session, queued)
      return packet.messageId
    },
    /** In the order of their arrival; what has been sent before says so. */
    queueOf: (client: string): (StoredPacket & { dup: boolean })[] =>
      (sessions.get(client)?.queue ?? []).map(({ packet }) => ({
        ...packet,
        dup: packet.cmd === 'publish' && packet.messageId !== undefined,
      })),
    /** Takes out what has never been sent, in the order of its arrival. */
    takeUnsent(client: string): Pick<StoredPacket, 'topic' | 'payload' | 'qos'>[] {
      const session = sessions.get(client)
      const unsent = session?.queue.filter(({ packet }) => packet.messageId === undefined) ?? []
      if (session !== undefined) for (const queued of unsent) remove(session, queued)
      return unsent.map(({ packet: { topic, payload, qos } }) => ({ topic, payload, qos }))
    },
    /** Notes the message id with which a message is being sent; a free one, which `packet` then has. */
    sending(client: string, packet: StoredPacket): void {
      const session = sessions.get(client)
      const queued = session?.queue.findLast(
        (one) => one.packet.brokerCounter === packet.brokerCounter && one.packet.brokerId === packet.brokerId,
      )
      // A packet that has given way to newer ones is sent all the same; only its repetition is lost.
      if (session === undefined || queued === undefined || packet.messageId === undefined) return
      packet.messageId = freeMessageId(session, queued, packet.messageId)
      if (queued.packet.messageId === packet.messageId) return
      if (queued.packet.messageId !== undefined) session.sent.delete(queued.packet.messageId)
      queued.packet.messageId = packet.messageId
      session.sent.set(packet.messageId, queued)
      keepQueued(session, queued)
    },
    /** The client has the message of QoS 2: its release takes its place. */
    released(client: string, messageId: number): void {
      const session = sessions.get(client)
      const queued = session?.sent.get(messageId)
      if (session === undefined || queued === undefined || queued.packet.cmd === 'pubrel') return
      session.queuedBytes -= queued.packet.payload.length
      queued.packet = releaseOf(messageId)
      keepQueued(session, queued)
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
    restore(record: SessionRecord | QueuedRecord | ReleasedRecord): void {
      const { client, number } = record
      const present = sessions.get(client)
      if (record.kind === 'session') {
        if (present !== undefined) return
        const session = open(client, number)
        const allowed = record.subscriptions.filter(({ topic }) => maySubscribe(topic))
        for (const one of allowed.slice(0, subscriptionsPerClientLimit)) filters.add(session, one)
        keep(session)
        return
      }
      if (present === undefined) return
      // The disk could not be read before, and this client has come back meanwhile: what it is being sent has the id.
      const isTaken = record.messageId !== undefined && present.sent.has(record.messageId)
      if (record.kind === 'released' && isTaken) return
      const packet: StoredPacket =
        record.kind === 'released'
          ? releaseOf(record.messageId)
          : {
              cmd: 'publish',
              topic: record.topic,
              payload: record.payload,
              qos: record.qos,
              retain: record.retain ?? false,
              brokerId: restoredBrokerId,
              brokerCounter: number,
              messageId: isTaken ? undefined : record.messageId,
            }
      append(present, { number, packet })
    },
    /** All that is on disk has been told. */
    restored(): void {
      const byAge = [...sessions.values()].sort((one, other) => one.number - other.number)
      sessions.clear()
      for (const session of byAge) {
        sessions.set(session.client, session)
        session.queue.sort((one, other) => one.number - other.number)
      }
      makeRoom(0)
    },
    clear: () => sessions.clear(),
  }
}
