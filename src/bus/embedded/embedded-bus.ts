import {
  type ClientAddresses,
  clientNetwork,
  createClientAddresses,
} from '../../base/network/client-address.ts'
import type { Clock } from '../../base/time/clock.ts'
import { waitAtMost } from '../../base/time/wait.ts'
import type { ConnectionLimits } from '../../base/network/connections.ts'
import type { FileSystem } from '../../base/files/file-system.ts'
import { createGuessLimit, type GuessLimit } from '../../base/network/guess-limit.ts'
import type { Logger } from '../../base/log/log.ts'
import type { TlsSource } from '../../base/keys/tls-identity.ts'
import { isBelow, isFilter, isShared, isTopic } from '../../base/topic-filter.ts'
import { createWarner } from '../../base/log/warning.ts'
import type { WillRecord } from '../../schema/files/broker-record.ts'
import { mayClientPublish, mayReceive } from '../../schema/manifest/topic-rights.ts'
import { createTopics } from '../../schema/names/topics.ts'
import { createBrokerListeners } from '../listeners/broker-listeners.ts'
import { connectionsLimit, connectionsPerAddressLimit, connectTimeout } from '../broker-limits.ts'
import type { BusMessage, BusSubscription, Cause, PublishOptions, StartableBus } from '../bus.ts'
import { createCongestion } from './congestion.ts'
import { createEmbeddedBroker } from './embedded-broker.ts'
import { createInbox } from '../inbox.ts'
import { closedProblem, filterProblem, sharedProblem, topicProblem } from '../problems.ts'
import type { Publisher } from '../store/retained-ledger.ts'

/** Messages of the host that are on their way; beyond it those of QoS 0 that nobody retains are dropped. */
const pendingMessagesLimit = 50_000
/** Milliseconds that the last word at the end (`offline`) may take. */
const closingTimeout = 1_000

export interface EmbeddedBusSettings {
  /** Address to listen at. */
  bind: string
  /** 0: any free port. */
  port: number
  /** Password that clients must give, with any user name; without one everybody may connect. */
  token?: string | undefined
  /** What all listeners share; default: this one alone. */
  guesses?: GuessLimit
  addresses?: ClientAddresses
  /** Encrypts every connection over TCP. */
  tls?: TlsSource | undefined
  /** First level(s) of the host's own topics. */
  root: string
  /** Where retained messages and sessions are kept over restarts; absent: they are not. */
  disk?: { directory: string; files: FileSystem } | undefined
  logger: Logger
  clock: Clock
  /** In place of the usual ones; `connectTimeout` in milliseconds. */
  limits?: Partial<ConnectionLimits & { connectTimeout: number }>
}

/** An MQTT 3.1.1 broker in this process, over TCP and (through `handleUpgrade`) WebSocket. */
export function createEmbeddedBus(settings: EmbeddedBusSettings): StartableBus {
  const { root, logger, clock } = settings
  const topics = createTopics(root)
  const warn = createWarner(logger, clock)
  const { guesses = createGuessLimit({ clock, warn }), addresses = createClientAddresses([]) } = settings
  const limits = {
    connections: connectionsLimit,
    connectionsPerAddress: connectionsPerAddressLimit,
    connectTimeout,
    ...settings.limits,
  }
  const inbox = createInbox(logger)
  let starting: Promise<void> | undefined
  let closing: Promise<void> | undefined
  const congestion = createCongestion()
  /** Whose message is being published: the broker reaches the host's own subscriptions before `publish` returns. */
  let present: Cause | undefined
  let pending = 0
  let published = 0

  const { broker, store, ledger, publishers, counts, take, cost, clients, diskFailure } =
    createEmbeddedBroker({
      ...settings,
      guesses,
      connectTimeout: limits.connectTimeout,
      forwards: congestion.note,
      publishWill,
      warn,
    })
  const listeners = createBrokerListeners({
    ...settings,
    tls: settings.tls,
    guesses,
    addresses,
    limits,
    take,
    cost,
    warn,
  })
  broker.on('connackSent', ({ returnCode }, { conn }) => {
    if (returnCode === 0) listeners.admit(conn)
  })

  async function listen(): Promise<void> {
    await broker.listen()
    await listeners.open().catch(async (error: unknown) => {
      await new Promise<void>((resolve) => broker.close(resolve))
      throw error
    })
    await say(topics.status, 'online')
  }

  /** Calls back when all subscribers that can take it have it; `pending` is the callback's to count down. */
  function send(
    topic: string,
    payload: Buffer,
    { qos = 0, retain = false }: PublishOptions,
    publisher: Publisher,
    done: (error?: Error) => void,
  ): void {
    if (retain) publishers.set(payload, publisher)
    pending += 1
    broker.publish({ cmd: 'publish', topic, payload, qos, retain, dup: false }, done)
  }

  /** What is called when messages on this topic have been sent. */
  const settled =
    (topic: string) =>
    (error?: Error): void => {
      pending -= 1
      if (error && closing === undefined)
        logger.error('A message could not be published', { topic, reason: String(error) })
    }

  /** Whether too much is under way for a message that may be lost. */
  function mustBeDropped({ qos = 0, retain = false }: PublishOptions): boolean {
    if (qos > 0 || retain || pending < pendingMessagesLimit) return false
    warn('Messages were dropped: more are published than subscribers read')
    return true
  }

  /** Sends messages on this topic, which stay as they are. */
  function senderFor(
    topic: string,
    publisher: Publisher,
  ): (payload: Buffer, options: PublishOptions) => void {
    const done = settled(topic)
    return (payload, options) => {
      if (mustBeDropped(options)) return
      published += 1
      send(topic, payload, options, publisher, done)
    }
  }

  /** Of the host itself, retained: resolves when all subscribers that can take it have it. */
  function say(topic: string, text: string): Promise<void> {
    return new Promise((resolve, reject) =>
      send(topic, Buffer.from(text), { qos: 1, retain: true }, publisherNamed(undefined), (error) => {
        pending -= 1
        if (error) reject(error)
        else resolve()
      }),
    )
  }

  function publishWill({ address, topic, payload, qos, retain }: WillRecord): void {
    if (!mayClientPublish(root, topic)) return
    const options = { qos, retain: retain && !isBelow(root, topic) }
    const publisher: Publisher = { kind: 'client', address: clientNetwork(address) }
    send(topic, payload, options, publisher, settled(topic))
  }

  async function closeAll(): Promise<void> {
    listeners.shut()
    inbox.close()
    await starting?.catch(() => undefined)
    if (listeners.isOpen) {
      const said = say(topics.status, 'offline')
      await waitAtMost(clock, closingTimeout, said)
    }
    await listeners.close(() => new Promise<void>((resolve) => broker.close(resolve)))
    await store.destroy()
  }

  return {
    kind: 'embedded',
    start: () => (starting ??= closing === undefined ? listen() : Promise.reject(closedProblem())),
    get url() {
      return listeners.url
    },
    get connected() {
      return closing === undefined && listeners.isOpen
    },
    get clients() {
      return clients()
    },
    get wrongPasswords() {
      return counts.wrongPasswords
    },
    get messages() {
      return { received: counts.received, published }
    },
    get memoryOnly() {
      return diskFailure()
    },
    onReconnect: () => () => undefined,
    async publish(topic, payload, options = {}) {
      if (closing !== undefined || !listeners.isOpen) throw closedProblem()
      if (!isTopic(topic)) throw topicProblem(topic)
      // Copied, because it is sent later than the caller believes.
      senderFor(topic, publisherNamed(options.publisher))(Buffer.from(payload), options)
    },
    prepare(topic, plugin) {
      if (!isTopic(topic)) throw topicProblem(topic)
      const sendBytes = senderFor(topic, publisherNamed(plugin))
      return (payload, options) => {
        if (closing === undefined && listeners.isOpen) sendBytes(asBuffer(payload), options)
      }
    },
    causedBy(cause, task) {
      const outer = present
      present = cause
      try {
        task()
      } finally {
        present = outer
      }
    },
    mayBeRetainedBy(plugin, topic) {
      const publisher = ledger.publisherOf(topic)
      return publisher?.kind === 'plugin' && publisher.id === plugin
    },
    *retainedTopics() {
      for (const [topic] of ledger.publishers()) if (mayReceive('#', topic)) yield topic
    },
    *retainedByPlugins() {
      for (const [topic, publisher] of ledger.publishers()) {
        if (publisher.kind !== 'plugin') continue
        const [packet] = store.retainedMatching([topic])
        yield { plugin: publisher.id, topic, payload: packet?.payload.length ?? 0 }
      }
    },
    congested: () => congestion.over() ?? inbox.congested(),
    async subscribe(filter, handler, options): Promise<BusSubscription> {
      if (closing !== undefined || !listeners.isOpen) throw closedProblem()
      if (!isFilter(filter)) throw filterProblem(filter)
      // As any other filter it would never match.
      if (isShared(filter)) throw sharedProblem(filter)
      const entry = inbox.open(handler, options)
      for (const packet of store.retainedMatching([filter])) {
        if (mayReceive(filter, packet.topic)) entry.push(messageOf(packet, true))
      }
      const onPacket = (packet: Parameters<typeof messageOf>[0], done: () => void): void => {
        if (mayReceive(filter, packet.topic)) {
          present?.reached()
          entry.push(messageOf(packet, false, present))
        }
        done()
      }
      broker.subscribe(filter, onPacket, () => undefined)
      return {
        async close() {
          if (!entry.close()) return
          await new Promise<void>((resolve) => broker.unsubscribe(filter, onPacket, resolve))
        },
      }
    },
    handleUpgrade: listeners.handleUpgrade,
    close: () => (closing ??= Promise.resolve().then(closeAll)),
  }
}

/** The same bytes; what comes from a worker is one already. */
function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function publisherNamed(plugin: string | undefined): Publisher {
  return plugin === undefined ? { kind: 'host' } : { kind: 'plugin', id: plugin }
}

/** How the ids begin that aedes gives to clients without one, as `mosquitto_pub` is: another one at each connection. */
const madeUpId = 'aedes_'

function messageOf(
  packet: { topic: string; payload: Buffer | string; qos: 0 | 1 | 2; clientId?: unknown },
  retained: boolean,
  cause?: Cause,
): BusMessage {
  return {
    topic: packet.topic,
    payload: typeof packet.payload === 'string' ? Buffer.from(packet.payload) : packet.payload,
    qos: packet.qos,
    retained,
    ...(cause === undefined ? {} : { publisher: cause.plugin }),
    ...(typeof packet.clientId === 'string' && !packet.clientId.startsWith(madeUpId)
      ? { client: packet.clientId }
      : {}),
  }
}
