import type { IncomingMessage } from 'node:http'
import { type AddressInfo, createServer, type Server, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { createServer as createSecureServer } from 'node:tls'
import { type ClientAddresses, peerOf } from '../../base/network/client-address.ts'
import { type ConnectionLimits, createConnections } from '../../base/network/connections.ts'
import { urlHostOf } from '../../base/network/loopback.ts'
import { fileDescriptorShortage } from '../../base/network/file-descriptor-shortage.ts'
import type { GuessLimit } from '../../base/network/guess-limit.ts'
import type { LogFields, Logger } from '../../base/log/log.ts'
import { Problem, systemErrorCode } from '../../base/problem.ts'
import { followIdentity, secureOptions, type TlsSource } from '../../base/keys/tls-identity.ts'
import { packetBytesLimit, subscriptionsPerClientLimit, tcpKeepalive } from '../broker-limits.ts'
import { limitPackets } from './packet-limit.ts'
import { createReadScheduler } from './read-scheduler.ts'
import { isFromPage } from './is-from-page.ts'
import { createWebSocketUpgrade } from './websocket-upgrade.ts'
import { coalesceWrites } from './write-coalescing.ts'

/** Nobody needs more filters in one packet than it may have in all. */
const packetLimits = { bytes: packetBytesLimit, filters: subscriptionsPerClientLimit }

const socketOptions = { noDelay: true, keepAlive: true, keepAliveInitialDelay: tcpKeepalive }

export interface BrokerListenersSettings {
  /** Address to listen at. */
  bind: string
  /** 0: any free port. */
  port: number
  /** Encrypts every connection over TCP. */
  tls: TlsSource | undefined
  guesses: GuessLimit
  addresses: ClientAddresses
  /** `connectTimeout`: milliseconds for the handshake. */
  limits: ConnectionLimits & { connectTimeout: number }
  /** A connection for the broker, with the client's address. */
  take: (connection: Duplex, address: string, request?: IncomingMessage) => void
  /** How much a message on this topic is: in deliveries. */
  cost: (topic: string, qos: number) => number
  logger: Logger
  warn: (message: string, fields?: LogFields) => void
}

/** How clients come in: over TCP, encrypted or not, and over WebSocket; with the limits that the broker does not have. */
export function createBrokerListeners(settings: BrokerListenersSettings) {
  const { bind, port, tls, guesses, addresses, limits, take, cost, logger, warn } = settings
  const connections = createConnections(limits, makeRoom)
  /** Those whose client has not been admitted yet, in the order in which they came, and how each gives its place up. */
  const pending = new Map<Duplex, () => void>()
  /** Those that have not agreed on their encryption yet, by the other side. */
  const handshakes = new Map<string, Duplex>()
  const webSockets = createWebSocketUpgrade(packetBytesLimit, accept)
  const readScheduler = createReadScheduler()
  let tcpServer: Server | undefined
  let unfollow: (() => void) | undefined
  let shut = false

  /** Counts it from now on. `socket`: what carries the stream of a WebSocket. */
  function wait(connection: Duplex, socket: Duplex): void {
    pending.set(connection, connections.add(connection, socket))
    connection.once('close', () => pending.delete(connection))
  }

  function accept(connection: Duplex, request?: IncomingMessage): void {
    wait(connection, request?.socket ?? connection)
    const address = request === undefined ? addresses.ofConnection(connection) : addresses.ofRequest(request)
    limitPackets(connection, packetLimits, readScheduler, cost, () =>
      warn('An MQTT client was cut off: its packet is too large, or has too many filters', {
        ...packetLimits,
        address,
      }),
    )
    coalesceWrites(connection)
    take(connection, address, request)
  }

  function isCutOff(socket: Duplex): boolean {
    return !addresses.isProxy(socket) && guesses.cutOffLeft(addresses.ofConnection(socket)) > 0
  }

  /** Many that connect and say nothing keep no client out: the one that has done so for the longest time goes. */
  function makeRoom(): void {
    const [longest] = pending.keys()
    if (longest === undefined) return
    leave(longest)
    longest.destroy()
  }

  function leave(connection: Duplex): void {
    pending.get(connection)?.()
    pending.delete(connection)
  }

  function isFull(socket: Duplex): boolean {
    const refusal = connections.refusal(socket)
    if (refusal === undefined) return false
    warn(`An MQTT connection was refused: ${refusal}`)
    return true
  }

  function mayEnter(socket: Socket): boolean {
    if (!shut && !isCutOff(socket) && !isFull(socket)) return true
    socket.destroy()
    return false
  }

  /** Who has connected but not agreed on an encryption yet counts, too, and makes room. */
  function trackHandshakes(server: Server): void {
    server.on('connection', (socket: Socket) => {
      if (!mayEnter(socket)) return
      const peer = peerOf(socket)
      wait(socket, socket)
      handshakes.set(peer, socket)
      socket.once('close', () => handshakes.delete(peer))
    })
    server.on('tlsClientError', (error: Error, socket: Duplex) => {
      logger.debug('An MQTT client could not agree on an encryption', { reason: error.message })
      socket.destroy()
    })
  }

  /** The encrypted connection takes the place of the one that carries it. */
  function endHandshake(socket: Socket): void {
    const carrier = handshakes.get(peerOf(socket))
    if (carrier !== undefined) leave(carrier)
  }

  function createTcpServer(): Server {
    const enter = (socket: Socket): void => {
      endHandshake(socket)
      if (mayEnter(socket)) accept(socket)
    }
    if (tls === undefined) return createServer(socketOptions, enter)
    const secure = { ...secureOptions(tls.identity), handshakeTimeout: limits.connectTimeout }
    const server = createSecureServer({ ...socketOptions, ...secure }, enter)
    unfollow = followIdentity(server, tls)
    trackHandshakes(server)
    return server
  }

  return {
    /** Rejects with an Error that says what to do. */
    async open(): Promise<void> {
      const server = createTcpServer()
      tcpServer = server
      server.on('connection', (socket: Socket) => {
        const shortage = fileDescriptorShortage(socket)
        if (shortage !== undefined) warn(shortage)
      })
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen({ host: bind, port }, resolve)
      }).catch((error: unknown) => {
        throw listenError(error, bind, port)
      })
      server.on('error', (error: Error) =>
        logger.error('The MQTT listener reports an error', { reason: error.message }),
      )
    },
    get isOpen() {
      return tcpServer?.listening === true
    },
    get url() {
      const address = tcpServer?.address() as AddressInfo | null | undefined
      return `${tls === undefined ? 'mqtt' : 'mqtts'}://${urlHostOf(bind)}:${address?.port ?? port}`
    },
    handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
      const limit = isFromPage(request) ? guesses.pages : guesses
      if (limit.cutOffLeft(addresses.ofRequest(request)) > 0) {
        throw new Problem('too_many_requests', 'Too many wrong tokens have come from this address.')
      }
      // Last, as it makes room: nobody has to go for one who may not come in.
      if (shut || tcpServer === undefined || isFull(socket)) {
        throw new Problem('broker_unavailable', 'The broker takes no more connections; try again later.')
      }
      if (socket instanceof Socket) socket.setKeepAlive(true, tcpKeepalive)
      webSockets.handle(request, socket, head)
    },
    /** The client of this connection may stay: it makes room for nobody. */
    admit(connection: Duplex): void {
      pending.delete(connection)
    },
    /** From now on nobody comes in. */
    shut(): void {
      shut = true
      unfollow?.()
    },
    /** Stops listening; `end` ends the clients in order, what is left is cut off. */
    async close(end: () => Promise<void>): Promise<void> {
      const server = tcpServer
      const stopped =
        server?.listening === true ? new Promise<void>((resolve) => server.close(() => resolve())) : undefined
      webSockets.close()
      await end()
      for (const connection of connections) connection.destroy()
      await stopped
    },
  }
}

/** One sentence for the person who starts the host: what is wrong, and which setting helps. */
function listenError(error: unknown, bind: string, port: number): Error {
  const code = systemErrorCode(error)
  const sentence =
    code === 'EADDRINUSE'
      ? `MQTT port ${port} at ${bind} is in use: set HOST_MQTT_PORT to another one, or to 0 for any free port`
      : code === 'EACCES'
        ? `MQTT port ${port} at ${bind} needs privileges: set HOST_MQTT_PORT to one above 1023, or to 0 for any`
        : `Cannot listen for MQTT at ${bind} (${code ?? String(error)}): set HOST_MQTT_BIND to an address of this machine`
  return new Error(sentence, { cause: error })
}
