import { Readable } from 'node:stream'
import type { LogFields } from '../../base/log/log.ts'
import {
  type BrokerRecord,
  brokerRecordKey,
  decodeBrokerRecord,
  encodeBrokerRecord,
  keyOfBrokerRecord,
  type UnreleasedRecord,
  type WillRecord,
} from '../../schema/files/broker-record.ts'
import { createBrokerSessions, sessionsLimit } from './broker-sessions.ts'
import type { Publisher, RetainedLedger } from './retained-ledger.ts'
import { createRetainedMessages, type RetainedSearch } from './retained-messages.ts'
import { settled } from './settled.ts'
import type { RetainedPacket, StoredPacket, StoredSubscription } from './stored-packet.ts'
import { createSubscriptionWrites } from './subscription-writes.ts'
import type { WriteBehind } from './write-behind.ts'

/**
 * What the embedded broker remembers: retained messages, sessions that outlive a connection, wills. It is
 * the broker's persistence, and replaces the one that comes with it for two reasons:
 *
 * - Storing is synchronous. The broker numbers a message first and stores it then; with a promise in
 *   between, a later message overtakes a retained one, which subscribers then discard as a duplicate.
 * - Everything is bounded. Clients are not trusted, and each of these grows with what they send.
 *
 * What is to survive the process is handed to `disk`, which writes it a little later.
 */

/** A client of the broker. */
interface ClientKey {
  id: string
  /** Nothing of it outlives its connection. */
  clean?: boolean
  /** Its connection has ended, or is about to. */
  closed?: boolean
}

type Incoming = Record<'messageId', number> & { cmd?: string }
type Will = Pick<StoredPacket, 'topic' | 'payload' | 'qos' | 'retain'>

export interface BrokerStoreSettings {
  /** First level(s) of the host's own topics. */
  root: string
  /** See `BrokerSessionsSettings`. */
  firstNumber: number
  /** Says for which retained messages there is room. */
  ledger: RetainedLedger
  publisherOf: (packet: StoredPacket) => Publisher
  /** Whether this client is connected now: its session does not give way. */
  isConnected: (clientId: string) => boolean
  /** Whether this client was let in. The broker clears up behind others, too. */
  isAdmitted: (client: object) => boolean
  /** Network address of a client that is connected. */
  addressOf: (client: object) => string
  /** The will of a client that an earlier run did not see leaving. */
  publishWill: (will: WillRecord) => void
  /** What is retained is searched for, for the client that has just subscribed. */
  beginSearch: (filters: readonly string[]) => RetainedSearch
  /** Absent: everything ends with the process. */
  disk?: WriteBehind | undefined
  warn: (message: string, fields?: LogFields) => void
}

const withoutDisk: Pick<WriteBehind, 'set' | 'delete' | 'writes' | 'written'> = {
  set: () => undefined,
  delete: () => undefined,
  written: () => undefined,
  writes: 0,
}

export function createBrokerStore(settings: BrokerStoreSettings) {
  const { publisherOf, addressOf, publishWill, beginSearch, warn } = settings
  const disk = settings.disk ?? withoutDisk
  const retained = createRetainedMessages({ ...settings, disk })
  const sessions = createBrokerSessions({ ...settings, disk })
  /** Ids of messages of QoS 2 that a client has sent and not released. */
  const incoming = new Map<string, Set<number>>()
  /** Clients that are away and have such messages; the one that went first is first. */
  const unreleased = new Set<string>()
  const wills = new Map<string, { will: Will; client: ClientKey }>()
  const subscriptionWrites = createSubscriptionWrites()

  function keepSubscription(
    client: string,
    subscription: StoredSubscription,
    carryOut = (): void => undefined,
  ): void {
    const write = sessions.subscribe(client, subscription) ? disk.written() : undefined
    subscriptionWrites.carryOut(client, write, carryOut)
  }

  function keepIncoming({ id, clean }: ClientKey): void {
    if (clean === true) return
    const key = brokerRecordKey('unreleased', id)
    if (!incoming.has(id)) disk.delete(key)
    else {
      disk.set(key, () =>
        encodeBrokerRecord({ kind: 'unreleased', client: id, messageIds: [...(incoming.get(id) ?? [])] }),
      )
    }
  }

  async function* takeUp(client: string): AsyncGenerator<StoredPacket> {
    const packets = sessions.takeUp(client)
    if (packets.some(({ cmd, qos }) => cmd === 'pubrel' || qos === 2)) await disk.written()
    yield* packets
  }

  function forgetIncoming(id: string): void {
    incoming.delete(id)
    unreleased.delete(id)
    disk.delete(brokerRecordKey('unreleased', id))
  }

  /** What it has sent and not released is kept for as many clients as there may be sessions. */
  function clientHasGone(id: string): void {
    if (!incoming.has(id)) return
    unreleased.add(id)
    const [oldest] = unreleased
    if (unreleased.size > sessionsLimit && oldest !== undefined) forgetIncoming(oldest)
  }

  function restoreIncoming(record: UnreleasedRecord): void {
    incoming.set(record.client, new Set(record.messageIds))
    keepIncoming({ id: record.client })
    if (!settings.isConnected(record.client)) clientHasGone(record.client)
  }

  function restore(record: BrokerRecord): void {
    switch (record.kind) {
      case 'retained':
        retained.restore(record)
        break
      case 'unreleased':
        restoreIncoming(record)
        break
      case 'will':
        publishWill(record)
        break
      case 'session':
      case 'position':
      case 'queued':
      case 'released':
      case 'shared':
        sessions.restore(record)
    }
  }

  return {
    /** Retained messages that a filter matches, as they are now. */
    retainedMatching: retained.matching,
    clientIsBack: (id: string): void => void unreleased.delete(id),
    clientHasGone,
    /** See `createBrokerSessions`; whose session ends with its connection confirms to nobody. */
    sendingRetained: ({ id, clean }: ClientKey, packet: RetainedPacket) =>
      clean === true ? undefined : sessions.sendingRetained(id, packet),
    keepSubscription,
    /** Resolves when the subscription that is being carried out is on disk; undefined: it is, or nobody keeps it. */
    subscriptionWritten: subscriptionWrites.present,
    /** How much it is to keep a message on this topic for sessions; in those. */
    cost: sessions.cost,
    /** What waits for the client and was never sent; it does not wait any more. */
    takeUnsent: ({ id }: ClientKey) => sessions.takeUnsent(id),

    // What follows is called by the broker. It insists on an async function here.
    async setup(): Promise<void> {
      let damaged = 0
      await settings.disk?.load(
        (key, value) => {
          const record = decodeBrokerRecord(value)
          if (record === undefined || keyOfBrokerRecord(record) !== key) damaged += 1
          else restore(record)
        },
        () => {
          sessions.restored()
          if (damaged > 0) warn('Some of what the broker had kept is damaged and was left out', { damaged })
        },
      )
    },
    async destroy(): Promise<void> {
      await settings.disk?.close()
      for (const held of [retained, sessions, incoming, unreleased, wills]) held.clear()
    },

    storeRetained(packet: StoredPacket): PromiseLike<void> {
      retained.keep(packet, publisherOf(packet))
      return settled(undefined)
    },
    createRetainedStreamCombi: (filters: string[]): Readable =>
      Readable.from(retained.views(filters, beginSearch(filters))),

    /** Called for each subscription of a request, with all of them, also those that were refused: see `keepSubscription`. */
    addSubscriptions: (): PromiseLike<void> => settled(undefined),
    /** Neither of them takes a turn: subscriptions begin and end in the order in which a client asks for that. */
    removeSubscriptions: ({ id }: ClientKey, filters: string[]): PromiseLike<void> =>
      settled(void sessions.unsubscribe(id, filters)),
    async subscriptionsByClient({ id }: ClientKey): Promise<StoredSubscription[]> {
      return sessions.subscriptionsOf(id)
    },
    async cleanSubscriptions({ id }: ClientKey): Promise<void> {
      if (sessions.forget(id)) await disk.written()
    },
    subscriptionsByTopic: (topic: string) => settled(sessions.waitingFor(topic)),
    countOffline: async () => sessions.count(),

    outgoingEnqueue({ clientId }: { clientId: string }, packet: StoredPacket): PromiseLike<void> {
      sessions.enqueue([clientId], packet, Buffer.from(packet.payload))
      return settled(undefined)
    },
    outgoingEnqueueCombi(
      subscriptions: { clientId: string; qos: 0 | 1 | 2 }[],
      packet: StoredPacket,
    ): PromiseLike<void> {
      if (subscriptions.length === 0) return settled(undefined)
      // Copied once for all: what came from the network is a slice of a much larger buffer.
      const payload = Buffer.from(packet.payload)
      for (const qos of [1, 2] as const) {
        const clients = subscriptions.filter((one) => Math.min(one.qos, packet.qos) === qos)
        const ids = clients.map(({ clientId }) => clientId)
        if (ids.length > 0) sessions.enqueue(ids, { ...packet, qos }, payload)
      }
      return settled(undefined)
    },
    /** Notes the message id of a packet that is being sent, or replaces it by its release: of QoS 2 on disk, before the client hears of it. */
    async outgoingUpdate({ id }: ClientKey, packet: StoredPacket): Promise<void> {
      const isChanged =
        packet.cmd === 'publish'
          ? sessions.sending(id, packet) && packet.qos === 2
          : packet.messageId !== undefined && sessions.released(id, packet.messageId)
      if (isChanged) await disk.written()
    },
    async outgoingClearMessageId(
      { id }: ClientKey,
      { messageId }: { messageId?: number | undefined },
    ): Promise<StoredPacket | undefined> {
      return sessions.confirmed(id, messageId)
    },
    outgoingStream: ({ id }: ClientKey): Readable => Readable.from(takeUp(id)),

    /** Only that it has arrived: whoever repeats a message of QoS 2 is answered without its content. */
    async incomingStorePacket(client: ClientKey, { messageId }: Incoming): Promise<void> {
      incoming.set(client.id, (incoming.get(client.id) ?? new Set<number>()).add(messageId))
      keepIncoming(client)
    },
    async incomingGetPacket({ id, clean }: ClientKey, { cmd, messageId }: Incoming): Promise<true> {
      const isOpen = incoming.get(id)?.has(messageId) === true
      // A release waits when it is carried out, and only for what is kept; one that comes again has to as well, as that may be going on.
      if (cmd === 'pubrel' ? !isOpen && clean === false : isOpen) await disk.written()
      if (!isOpen) throw new Error('no such packet')
      return true
    },
    async incomingDelPacket(client: ClientKey, { messageId }: Incoming): Promise<void> {
      const ofClient = incoming.get(client.id)
      if (ofClient?.delete(messageId) !== true) throw new Error('no such packet')
      if (ofClient.size === 0) incoming.delete(client.id)
      keepIncoming(client)
      // A client that comes back may give another message this id as soon as it is told that it is free.
      if (client.clean === false) await disk.written()
    },
    async cleanIncoming(client: ClientKey): Promise<void> {
      if (settings.isAdmitted(client)) forgetIncoming(client.id)
    },

    async putWill(client: ClientKey, will: Will): Promise<void> {
      const { id } = client
      const { topic, qos, retain } = will
      // At the next start there is nobody to hear of any other. There may be that of the connection which this one takes over.
      const isKept = qos > 0 || retain
      const isReplaced = wills.has(id)
      wills.set(id, { will, client })
      const key = brokerRecordKey('will', id)
      if (isKept) {
        const held = { address: addressOf(client), payload: Buffer.from(will.payload) }
        disk.set(key, () => encodeBrokerRecord({ kind: 'will', client: id, topic, qos, retain, ...held }))
      } else disk.delete(key)
      if (isKept || isReplaced) await disk.written()
    },
    async getWill({ id }: ClientKey): Promise<Will | undefined> {
      return wills.get(id)?.will
    },
    /** That of a connection goes with it: whoever has taken a client over has put its own, and it stays. */
    async delWill({ id }: ClientKey): Promise<Will | undefined> {
      const present = wills.get(id)
      if (present?.client.closed === false) return undefined
      wills.delete(id)
      disk.delete(brokerRecordKey('will', id))
      return present?.will
    },
    /** Wills that other brokers left behind; there are no others. */
    streamWill: (): Readable => Readable.from([]),
    getClientList: (topic: string): Readable => Readable.from(sessions.clientsWith(topic)),
  }
}
