import type { IncomingMessage } from 'node:http'
import { createServer, type Server, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { createServer as createSecureServer } from 'node:tls'
import { Aedes, type AuthenticateError, type Client } from 'aedes'
import { type ClientAddresses, clientNetwork, createClientAddresses } from '../base/client-address.ts'
import { type Clock, withDeadline } from '../base/clock.ts'
import { type ConnectionLimits, createConnections } from '../base/connections.ts'
import { createGuessLimit, type GuessLimit } from '../base/guess-limit.ts'
import type { Logger } from '../base/log.ts'
import { createSecretCheck } from '../base/secret-check.ts'
import { followIdentity, secureOptions, type TlsSource } from '../base/tls-identity.ts'
import {
  isBrokerInternal,
  isRequest,
  mayClientPublish,
  mayReceive,
  maySubscribe,
} from '../schema/topic-rights.ts'
import { createBrokerStore } from './broker-store.ts'
import type { BusMessage, BusSubscription, Cause, PublishOptions, StartableBus } from './bus.ts'
import { createCongestion } from './congestion.ts'
import { createInbox } from './inbox.ts'
import { isAddress, listenError, urlHost } from './listen-address.ts'
import { limitPackets } from './packet-limit.ts'
import { closedProblem, filterProblem, topicProblem } from './problems.ts'
import { createRetainedLedger, type Publisher } from './retained-ledger.ts'
import { isBelow, isFilter, isTopic, topicLevelsLimit } from '../base/topic-filter.ts'
import { createTopics } from '../schema/topics.ts'
import { createWarner } from '../base/warning.ts'
import { createWebSocketUpgrade, refuseUpgrade } from './websocket-upgrade.ts'
import { coalesceWrites } from './write-coalescing.ts'

/**
 * Connections over TCP and WebSocket at a time, if nothing else is set (`HOST_MQTT_CONNECTIONS`). Each takes one
 * file descriptor and some 20 kB. With those of HTTP and some hundred files and pipes of the host they fit into
 * 4,096 descriptors, the least hard limit that is usual, to which Node raises its own.
 */
export const connectionsLimit = 2_000
/** Of one address other than this machine's own (`HOST_MQTT_CONNECTIONS_PER_ADDRESS`): many for one gateway. */
export const connectionsPerAddressLimit = 250
/**
 * Messages of QoS 2 of one client that it has not released yet, of which the broker keeps the numbers. Libraries
 * without a window send some thousand at once; nobody needs to keep as many open.
 */
export const inflightLimit = 10_000
/** Bytes of one MQTT packet from a client: the size of a request over HTTP, and as much for the rest. */
export const packetBytesLimit = 2 * 1024 * 1024
/** Filters one client may have; every message is compared with them. */
export const subscriptionsPerClientLimit = 200
/** Milliseconds in which a new connection must send its CONNECT. */
export const connectTimeout = 10_000
/** Milliseconds of silence after which TCP itself asks: MQTT clients may choose to have no keepalive. */
export const tcpKeepalive = 60_000
/** Milliseconds that a client may leave its incoming buffer full before it is cut off. */
export const drainTimeout = 10_000
/** Bytes that may wait for one client that reads too slowly. */
export const outgoingBytesLimit = 16 * 1024 * 1024
/** Messages of the host that are on their way; beyond it those of QoS 0 that nobody retains are dropped. */
export const pendingMessagesLimit = 50_000
/** Milliseconds that the last word at the end (`offline`) may take. */
export const farewellTimeout = 1_000

/** Of a message that came by no known way: it counts like one of a client. */
const unknownPublisher: Publisher = { kind: 'client', address: '' }

/** Where refused messages go: nobody can subscribe to it. */
const refusedTopic = '$SYS/refused'
/** CONNACK return code of MQTT 3.1.1 for a bad user name or password. */
// eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- a const enum of a declaration file cannot be imported
const badCredentials = 4 as AuthenticateError['returnCode']

const socketOptions = { noDelay: true, keepAlive: true, keepAliveInitialDelay: tcpKeepalive }

export interface EmbeddedBusSettings {
  /** Address to listen at. */
  bind: string
  /** 0: any free port. */
  port: number
  /** Password that clients must give, with any user name; without one everybody may connect. */
  token?: string | undefined
  /** What all doors share; default: this one alone. */
  guesses?: GuessLimit
  addresses?: ClientAddresses
  /** Encrypts every connection over TCP. */
  tls?: TlsSource | undefined
  /** First level(s) of the host's own topics. */
  root: string
  logger: Logger
  clock: Clock
  /** In place of the usual ones; `connectTimeout` in milliseconds. */
  limits?: Partial<ConnectionLimits & { connectTimeout: number }>
}

function authenticationError(): AuthenticateError {
  return Object.assign(new Error('The password must be the token of this host'), {
    returnCode: badCredentials,
  })
}

/** An MQTT 3.1.1 broker in this process, over TCP and (through `handleUpgrade`) WebSocket. */
export function createEmbeddedBus(settings: EmbeddedBusSettings): StartableBus {
  const { bind, port, token, tls, root, logger, clock } = settings
  const topics = createTopics(root)
  const warn = createWarner(logger, clock)
  const isToken = token === undefined ? undefined : createSecretCheck(token)
  const { guesses = createGuessLimit({ clock, warn }), addresses = createClientAddresses([]) } = settings
  /** Of the client at the other end of each connection. */
  const clientOf = new WeakMap<Duplex, string>()
  const limits = {
    connections: connectionsLimit,
    connectionsPerAddress: connectionsPerAddressLimit,
    ...settings.limits,
  }
  const connections = createConnections(limits)
  const handshakes = new Set<Duplex>()
  const inbox = createInbox(logger)
  let tcpServer: Server | undefined
  let starting: Promise<void> | undefined
  let closing: Promise<void> | undefined
  let unfollow: (() => void) | undefined
  const congestion = createCongestion()
  /** Whose message is being published: the broker reaches the host's own subscriptions before `publish` returns. */
  let present: Cause | undefined
  let pending = 0
  const messages = { received: 0, published: 0 }
  const connectTime = limits.connectTimeout ?? connectTimeout
  let wrongPasswords = 0

  /** Whose message is to be retained, by its payload: the broker makes packets of its own, but leaves that as it is. */
  const publishers = new WeakMap<Buffer, Publisher>()
  const ledger = createRetainedLedger()
  const store = createBrokerStore({
    ledger,
    publisherOf: ({ payload }) => publishers.get(payload) ?? unknownPublisher,
    isConnected: (id) => clientIds.has(id),
    warn,
  })
  const clientIds = new Set<string>()
  const broker = new Aedes({
    persistence: store,
    // Unlimited: one client that does not read would otherwise hold up all others. Each is bounded by itself.
    concurrency: 0,
    connectTimeout: connectTime,
    drainTimeout,
    maxTopicLevels: topicLevelsLimit,
    maxInflightInbound: inflightLimit,
    authenticate(client, _username, password, done) {
      const address = clientOf.get(client.conn) ?? ''
      // Too many wrong ones came from there: no password is looked at for a while.
      if (isToken !== undefined && guesses.wait(address) > 0) {
        done(authenticationError(), false)
        return
      }
      if (isToken === undefined || (password !== undefined && isToken(password))) {
        done(null, true)
        return
      }
      wrongPasswords += 1
      // Who gives none does not guess.
      if (password !== undefined && password.length > 0) guesses.wrong(address)
      warn('An MQTT client was refused: its password is not the token of this host')
      done(authenticationError(), false)
    },
    authorizePublish(client, packet, done) {
      messages.received += 1
      if (!mayClientPublish(root, packet.topic)) {
        warn('A message of an MQTT client was refused: only the host publishes there', {
          client: client?.id,
          topic: packet.topic,
        })
        // An error would cut the client off. So the message is acknowledged, but goes nowhere.
        packet.topic = refusedTopic
        packet.payload = Buffer.alloc(0)
        packet.retain = false
      }
      // Commands, which are all that is left below the root, are for now: delivered, but not kept for later.
      if (isBelow(root, packet.topic)) packet.retain = false
      if (packet.retain && Buffer.isBuffer(packet.payload) && client !== null) {
        const address = clientNetwork(clientOf.get(client.conn) ?? '')
        publishers.set(packet.payload, { kind: 'client', address })
      }
      done(null)
    },
    authorizeSubscribe(client, subscription, done) {
      const allowed = maySubscribe(subscription.topic) && hasRoomFor(client, subscription.topic)
      done(null, allowed ? subscription : null)
    },
    authorizeForward(client, packet) {
      if (isBrokerInternal(packet.topic) || isRequest(root, packet.topic)) return null
      congestion.note(client.conn)
      if (client.conn.writableLength > outgoingBytesLimit) {
        warn('An MQTT client was cut off: it reads too slowly', { client: client.id })
        client.conn.destroy()
        return null
      }
      return packet
    },
  })
  broker.on('clientReady', ({ id }) => {
    clientIds.add(id)
    store.clientIsBack(id)
  })
  broker.on('clientDisconnect', ({ id }) => {
    clientIds.delete(id)
    store.clientHasGone(id)
  })
  broker.on('clientError', (client, error) =>
    logger.debug('An MQTT client was disconnected', { client: client.id, reason: error.message }),
  )
  // Not in the broker's types: it tells so of a store that fails.
  Reflect.apply(broker.on, broker, [
    'error',
    (error: Error) => logger.error('The MQTT broker reports an error', { reason: error.message }),
  ])

  function hasRoomFor(client: Client, filter: string): boolean {
    const present: unknown = Reflect.get(client, 'subscriptions')
    if (typeof present !== 'object' || present === null || filter in present) return true
    if (Object.keys(present).length < subscriptionsPerClientLimit) return true
    warn('A subscription was refused: the client has as many as it may', { client: client.id })
    return false
  }

  /** Hands a connection to the broker, with the limits that it does not have itself. */
  function accept(connection: Duplex, request?: IncomingMessage): void {
    connections.add(connection, request?.socket ?? connection)
    const address = request === undefined ? addresses.ofConnection(connection) : addresses.ofRequest(request)
    clientOf.set(connection, address)
    limitPackets(connection, packetBytesLimit, () =>
      warn('An MQTT client was cut off: its packet is too large'),
    )
    coalesceWrites(connection)
    broker.handle(connection, request)
  }

  function isCutOff(socket: Duplex): boolean {
    return !addresses.isProxy(socket) && guesses.wait(addresses.ofConnection(socket)) > 0
  }

  function isFull(socket: Duplex): boolean {
    const refusal = connections.refusal(socket)
    if (refusal === undefined) return false
    warn(`An MQTT connection was refused: ${refusal}`)
    return true
  }

  /** What has connected but not agreed on an encryption yet counts, too, and ends with the rest. */
  function trackHandshakes(server: Server): void {
    server.on('connection', (socket: Socket) => {
      if (isCutOff(socket)) {
        socket.destroy()
        return
      }
      handshakes.add(socket)
      socket.once('close', () => handshakes.delete(socket))
      if (handshakes.size > limits.connections) socket.destroy()
    })
    server.on('tlsClientError', (error: Error, socket: Duplex) => {
      logger.debug('An MQTT client could not agree on an encryption', { reason: error.message })
      socket.destroy()
    })
  }

  function listenSecurely(source: TlsSource, take: (socket: Socket) => void): Server {
    const secure = { ...socketOptions, ...secureOptions(source.identity), handshakeTimeout: connectTime }
    const server = createSecureServer(secure, take)
    unfollow = followIdentity(server, source)
    trackHandshakes(server)
    return server
  }

  const webSockets = createWebSocketUpgrade(packetBytesLimit, accept)

  async function listen(): Promise<void> {
    await broker.listen()
    const take = (socket: Socket): void => {
      if (closing !== undefined || isCutOff(socket) || isFull(socket)) socket.destroy()
      else accept(socket)
    }
    const server = tls === undefined ? createServer(socketOptions, take) : listenSecurely(tls, take)
    tcpServer = server
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ host: bind, port }, resolve)
    }).catch(async (error: unknown) => {
      await new Promise<void>((resolve) => broker.close(resolve))
      throw listenError(error, bind, port)
    })
    server.on('error', (error: Error) =>
      logger.error('The MQTT listener reports an error', { reason: error.message }),
    )
    await say(topics.status, 'online')
  }

  /** Calls back when all subscribers that can take it have it. The payload stays as it is. */
  function send(
    topic: string,
    payload: Buffer,
    { qos = 0, retain = false, publisher }: PublishOptions,
    done: (error?: Error) => void,
  ): void {
    if (retain) publishers.set(payload, publisherNamed(publisher))
    pending += 1
    broker.publish({ cmd: 'publish', topic, payload, qos, retain, dup: false }, (error) => {
      pending -= 1
      done(error)
    })
  }

  /** Sends it and logs what comes of that, unless it may be lost and too much is under way. */
  function sendAway(topic: string, payload: Buffer, options: PublishOptions): void {
    const canBeLost = (options.qos ?? 0) === 0 && options.retain !== true
    if (canBeLost && pending >= pendingMessagesLimit) {
      warn('Messages were dropped: more are published than subscribers read')
      return
    }
    messages.published += 1
    send(topic, payload, options, (error) => {
      if (error && closing === undefined)
        logger.error('A message could not be published', { topic, reason: String(error) })
    })
  }

  /** Of the host itself, retained: resolves when all subscribers that can take it have it. */
  function say(topic: string, text: string): Promise<void> {
    return new Promise((resolve, reject) =>
      send(topic, Buffer.from(text), { qos: 1, retain: true }, (error) =>
        error ? reject(error) : resolve(),
      ),
    )
  }

  async function closeAll(): Promise<void> {
    unfollow?.()
    inbox.close()
    await starting?.catch(() => undefined)
    if (tcpServer?.listening === true) {
      const farewell = say(topics.status, 'offline')
      await withDeadline(clock, farewellTimeout, farewell, () => new Error('late')).catch(() => undefined)
    }
    const server = tcpServer
    const stopped =
      server?.listening === true ? new Promise<void>((resolve) => server.close(() => resolve())) : undefined
    webSockets.close()
    await new Promise<void>((resolve) => broker.close(resolve))
    for (const connection of [...connections, ...handshakes]) connection.destroy()
    await stopped
    await store.destroy()
  }

  return {
    kind: 'embedded',
    start: () => (starting ??= closing === undefined ? listen() : Promise.reject(closedProblem())),
    get url() {
      const address = tcpServer?.address()
      return `${tls === undefined ? 'mqtt' : 'mqtts'}://${urlHost(bind)}:${isAddress(address) ? address.port : port}`
    },
    get connected() {
      return closing === undefined && tcpServer?.listening === true
    },
    get clients() {
      return clientIds.size
    },
    get wrongPasswords() {
      return wrongPasswords
    },
    messages,
    onReconnect: () => () => undefined,
    async publish(topic, payload, options = {}) {
      if (closing !== undefined || tcpServer === undefined) throw closedProblem()
      if (!isTopic(topic)) throw topicProblem(topic)
      // Copied, because it is sent later than the caller believes.
      sendAway(topic, Buffer.from(payload), options)
    },
    prepare(topic, options = {}) {
      if (!isTopic(topic)) throw topicProblem(topic)
      // What waits for a client that is away must not keep the larger piece of memory that it may be a part of.
      const waits = (options.qos ?? 0) > 0
      return (payload) => {
        if (closing !== undefined || tcpServer === undefined) return
        const { buffer, byteOffset, byteLength } = payload
        sendAway(topic, waits ? Buffer.from(payload) : Buffer.from(buffer, byteOffset, byteLength), options)
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
    congested: () => congestion.over() ?? inbox.congested(),
    async subscribe(filter, handler, options): Promise<BusSubscription> {
      if (closing !== undefined || tcpServer === undefined) throw closedProblem()
      if (!isFilter(filter)) throw filterProblem(filter)
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
    handleUpgrade(request, socket, head) {
      if (closing !== undefined || tcpServer === undefined || isFull(socket)) {
        refuseUpgrade(socket, '503 Service Unavailable', 'The broker takes no more connections.\n')
        return
      }
      if (guesses.wait(addresses.ofRequest(request)) > 0) {
        refuseUpgrade(socket, '429 Too Many Requests', 'Too many wrong tokens have come from this address.\n')
        return
      }
      if (socket instanceof Socket) socket.setKeepAlive(true, tcpKeepalive)
      webSockets.handle(request, socket, head)
    },
    close: () => (closing ??= Promise.resolve().then(closeAll)),
  }
}

function publisherNamed(plugin: string | undefined): Publisher {
  return plugin === undefined ? { kind: 'host' } : { kind: 'plugin', id: plugin }
}

function messageOf(
  packet: { topic: string; payload: Buffer | string; qos: 0 | 1 | 2 },
  retained: boolean,
  cause?: Cause,
): BusMessage {
  return {
    topic: packet.topic,
    payload: typeof packet.payload === 'string' ? Buffer.from(packet.payload) : packet.payload,
    qos: packet.qos,
    retained,
    ...(cause === undefined ? {} : { publisher: cause.plugin }),
  }
}
