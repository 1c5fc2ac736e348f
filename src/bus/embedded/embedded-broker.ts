import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { Aedes, type Client } from 'aedes'
import type { Clock } from '../../base/time/clock.ts'
import type { FileSystem } from '../../base/files/file-system.ts'
import type { GuessLimit } from '../../base/network/guess-limit.ts'
import type { Logger } from '../../base/log/log.ts'
import type { Warner } from '../../base/log/warning.ts'
import { topicLevelsLimit } from '../../base/topic-filter.ts'
import { type WillRecord, writingPhase } from '../../schema/files/broker-record.ts'
import { drainTimeout, inflightLimit, outgoingBytesLimit } from '../broker-limits.ts'
import { isFromPage } from '../listeners/is-from-page.ts'
import { createAcknowledgements } from './acknowledgements.ts'
import { createBrokerRules } from './broker-rules.ts'
import { readBeforeCutOff } from './keepalive.ts'
import { createBrokerStore } from '../store/broker-store.ts'
import { createMessageEmitter } from './message-emitter.ts'
import { createRetainedSearchScheduler } from './retained-search-scheduler.ts'
import { createRecordFolder } from '../store/record-folder.ts'
import { createRetainedLedger, type Publisher } from '../store/retained-ledger.ts'
import { createWriteBehind } from '../store/write-behind.ts'

/** Of a message that came by no known way: it counts like one of a client. */
const unknownPublisher: Publisher = { kind: 'client', address: '' }

/** Queues of clients are numbered from the time on, so that no number comes twice, also over restarts. */
const numbersPerMillisecond = 1_000

export interface EmbeddedBrokerSettings {
  /** First level(s) of the host's own topics. */
  root: string
  /** Password that clients must give, with any user name; without one everybody may connect. */
  token?: string | undefined
  guesses: GuessLimit
  /** Where retained messages and sessions are kept over restarts; absent: they are not. */
  disk?: { directory: string; files: FileSystem } | undefined
  /** Milliseconds for the handshake of a client. */
  connectTimeout: number
  /** Something is about to be written to this connection. */
  forwards: (connection: Client['conn']) => void
  /** The will of a client that an earlier run did not see leaving. */
  publishWill: (will: WillRecord) => void
  clock: Clock
  logger: Logger
  warn: Warner
}

/** The broker library with this host's rules, and with what it remembers. */
export function createEmbeddedBroker(settings: EmbeddedBrokerSettings) {
  const { root, token, guesses, connectTimeout, forwards, publishWill, clock, logger, warn } = settings
  /** Of the client at the other end of each connection. */
  const addresses = new WeakMap<Duplex, string>()
  /** Connections of web pages. */
  const pages = new WeakSet<object>()
  const addressOf = (client: object): string => {
    const connection: unknown = Reflect.get(client, 'conn')
    return addresses.get(connection as Duplex) ?? ''
  }
  /** Whose message is to be retained, by its payload: the broker makes packets of its own, but leaves that as it is. */
  const publishers = new WeakMap<Buffer, Publisher>()
  const ledger = createRetainedLedger()

  function cutOffIfSlow({ id, conn }: Client): boolean {
    if (conn.writableLength <= outgoingBytesLimit) return false
    warn('An MQTT client was cut off: it reads too slowly', { client: id })
    conn.destroy()
    return true
  }

  const { rules, unsubscribed, greeted, isAdmitted, counts } = createBrokerRules({
    root,
    token,
    guessesOf: (client) => (pages.has(client.conn) ? guesses.pages : guesses),
    addressOf,
    retains: (payload, publisher) => void publishers.set(payload, publisher),
    forwards,
    sendingRetained: (client, packet) => store.sendingRetained(client, packet),
    keepSubscription: (...given) => store.keepSubscription(...given),
    cutOffIfSlow,
    acknowledgements: createAcknowledgements({
      cutOffIfSlow,
      waitsForSessions: (topic) => store.cost(topic) > 0,
      written: () => disk?.written(),
      // With a client it is not in the broker's types.
      publish: (packet, client, done) =>
        void Reflect.apply(Reflect.get(broker, 'publish'), broker, [packet, client, done]),
    }),
    warn,
  })
  const clientIds = new Set<string>()
  const disk =
    settings.disk &&
    createWriteBehind({
      folder: createRecordFolder({ ...settings.disk, clock, logger }),
      // Better a message twice than not at all.
      phaseOf: writingPhase,
      clock,
      logger,
    })
  const retainedTurns = createRetainedSearchScheduler()
  const store = createBrokerStore({
    root,
    firstNumber: clock.now() * numbersPerMillisecond,
    ledger,
    publisherOf: ({ payload }) => publishers.get(payload) ?? unknownPublisher,
    isConnected: (id) => clientIds.has(id),
    isAdmitted,
    addressOf,
    publishWill,
    beginSearch: retainedTurns.begin,
    disk,
    warn,
  })
  const emitter = createMessageEmitter(store.subscriptionWritten)
  const broker = new Aedes({
    ...rules,
    persistence: store,
    mq: emitter,
    // Unlimited: one client that does not read would otherwise hold up all others. Each is bounded by itself.
    concurrency: 0,
    connectTimeout,
    drainTimeout,
    maxTopicLevels: topicLevelsLimit,
    maxInflightInbound: inflightLimit,
  })
  keepWhoIsBack(broker)
  broker.on('connackSent', (_packet, client) => greeted(client))
  broker.on('clientReady', (client) => {
    readBeforeCutOff(client)
    clientIds.add(client.id)
    store.clientIsBack(client.id)
    // All that had waited has been sent: now what has come meanwhile, and then what comes.
    for (const message of store.takeUnsent(client))
      client.publish({ cmd: 'publish', ...message, dup: false, retain: false }, () => undefined)
  })
  broker.on('clientDisconnect', ({ id }) => {
    clientIds.delete(id)
    store.clientHasGone(id)
  })
  broker.on('subscribe', (_filters, client) => retainedTurns.subscribed(client))
  broker.on('unsubscribe', (filters, client) => unsubscribed(client, filters))
  broker.on('clientError', (client, error) =>
    logger.debug('An MQTT client was disconnected', { client: client.id, reason: error.message }),
  )
  // Not in the broker's types: it tells so of a store that fails.
  Reflect.apply(broker.on, broker, [
    'error',
    (error: Error) => logger.error('The MQTT broker reports an error', { reason: error.message }),
  ])

  return {
    broker,
    store,
    ledger,
    publishers,
    counts,
    /** How much a message on this topic is: in deliveries, of which one that waits for a client is one as well. */
    cost: (topic: string, qos: number): number => emitter.cost(topic) + (qos > 0 ? store.cost(topic) : 0),
    /** Clients that are connected. */
    clients: () => clientIds.size,
    /** Why what is to survive a restart is kept in memory alone. */
    diskFailure: () => disk?.failure,
    /** Serves a connection of a client with this address. */
    take(connection: Duplex, address: string, request?: IncomingMessage): void {
      addresses.set(connection, address)
      if (isFromPage(request)) pages.add(connection)
      broker.handle(connection, request)
    },
  }
}

/**
 * The broker forgets a client by its id when a connection ends, and while it clears up behind one that has ended by itself,
 * another may have taken its place: two more could then have the id. One that has ended while what it connected with was being written
 * would be known for ever, and end the connection by which its client has come back. Not in the broker's types.
 */
function keepWhoIsBack(broker: Aedes): void {
  const clients = Reflect.get(broker, 'clients') as Record<string, Client>
  const register = Reflect.get(broker, 'registerClient') as (client: Client) => void
  Reflect.set(broker, 'registerClient', (client: Client) => {
    if (!client.closed) Reflect.apply(register, broker, [client])
  })
  const unregister = Reflect.get(broker, 'unregisterClient') as (client: Client) => void
  Reflect.set(broker, 'unregisterClient', (client: Client) => {
    if (clients[client.id] === client) Reflect.apply(unregister, broker, [client])
  })
}
