import {
  connect as connectOverTcp,
  type ConnectionOptions,
  credsAuthenticator,
  type NatsConnection,
  wsconnect,
} from '@nats-io/transport-node'
import { type FileSystem, systemFileSystem } from '../../base/files/file-system.ts'
import { lazyImport } from '../../base/lazy-import.ts'
import { messageOf } from '../../base/problem.ts'
import { type Clock, systemClock } from '../../base/time/clock.ts'
import { keepNothing } from './keep-nothing.ts'
import { leaveSilentServers } from './silent-store.ts'
import { StoreRefusedError, StoreUnreachableError } from './store-errors.ts'
import { openStoreFault, type ReadLogin, readLogin, type StoreLogin } from './store-login.ts'

/** As whoever brings it from here to there names it. */
export type StoreConnection = NatsConnection

/** How the fleet's store is reached. */
export interface StoreAddress extends StoreLogin {
  /** Name of this client, for whoever looks at the store. */
  name: string
  files?: Pick<FileSystem, 'readFile'>
}

export interface StoreConnectionOptions {
  /** Whether it connects again by itself when the connection is lost. */
  reconnects?: boolean
  /** Milliseconds that a connection may take. */
  timeout?: number
  /** Milliseconds by which silence is measured. */
  now?: () => number
}

/** Milliseconds that a first connection may take, and between two tries once it was there. */
const connectTimeout = 5_000
const reconnectPause = 250
/** Milliseconds between two signs of life; after two without an answer the connection counts as lost. */
const pingInterval = 2_000

/** Nothing is kept for the next connection. */
export async function connectStore(
  address: StoreAddress,
  { reconnects = true, timeout = connectTimeout, now = systemClock.monotonic }: StoreConnectionOptions = {},
): Promise<NatsConnection> {
  const { servers, name, files = systemFileSystem } = address
  const where = servers.join(', ')
  const login = await readLogin(files, address)
  const connect = await connectorFor(servers, login)
  let connection: NatsConnection
  try {
    connection = await connect({
      servers: [...servers],
      name,
      timeout,
      reconnect: reconnects,
      reconnectDelayHandler: createReconnectDelay(systemClock),
      maxReconnectAttempts: -1,
      // What servers tell of each other would be tried for ever where no login fits, and need not be reachable from here.
      ignoreClusterUpdates: true,
      // Whoever looks after the store may be changing the logins just now.
      ignoreAuthErrorAbort: true,
      pingInterval,
      maxPingOut: 2,
      ...(login.credentials === undefined ? {} : { authenticator: credsAuthenticator(login.credentials) }),
      ...(login.user === undefined ? {} : { user: login.user, pass: login.password ?? '' }),
    })
  } catch (error) {
    throw explained(error, where)
  }
  const fault = openStoreFault(servers, connection.info ?? {})
  if (fault === undefined) {
    const made = keepNothing(connection)
    if (reconnects && servers.length > 1) leaveSilentServers(made, now)
    return made
  }
  await connection.close()
  throw new StoreRefusedError(fault)
}

/**
 * Tells the library how long a server has to rest after its last try. The library compares that with the time of day: of one
 * whose clock was set back since by a year it would stay away for a year. So what has rested by a clock that does not jump is
 * said to need no rest at all.
 */
function createReconnectDelay(clock: Pick<Clock, 'monotonic'>): () => number {
  let triedAt = Number.NEGATIVE_INFINITY
  return () => {
    const now = clock.monotonic()
    if (now - triedAt < reconnectPause) return reconnectPause
    triedAt = now
    return Number.NEGATIVE_INFINITY
  }
}

type Connector = (options: ConnectionOptions) => Promise<NatsConnection>

const webSockets = lazyImport(() => import('ws'))

/** By the addresses: over TCP, with TLS where one of them or a certificate asks for it, or over WebSocket. */
async function connectorFor(servers: readonly string[], { ca }: ReadLogin): Promise<Connector> {
  // The settings take addresses of one kind only.
  if (!servers.some((server) => /^wss?:/.test(server))) {
    const isSecure = ca !== undefined || servers.some((server) => server.startsWith('tls:'))
    const tls = ca === undefined ? {} : { ca }
    return (options) => connectOverTcp({ ...options, ...(isSecure ? { tls } : {}) })
  }
  const { WebSocket } = await webSockets()
  return (options) =>
    wsconnect({
      ...options,
      // Node 20 has none of its own.
      wsFactory: (url) => {
        const socket = new WebSocket(url, ca === undefined ? {} : { ca })
        return Promise.resolve({ socket: socket as never, encrypted: url.startsWith('wss:') })
      },
    })
}

function explained(error: unknown, where: string): Error {
  const message = messageOf(error)
  if (error instanceof Error && error.name === 'AuthorizationError') {
    return new StoreRefusedError(
      `The fleet's store at ${where} refuses this login; give the user and password, or the credentials, that it knows.`,
      { cause: error },
    )
  }
  if (/certificate|self.signed|altname|issuer/i.test(message)) {
    return new StoreRefusedError(
      `The certificate of the fleet's store at ${where} is not believed (${message}); HOST_FLEET_CA_FILE names those that may sign it.`,
      { cause: error },
    )
  }
  if (/'tls'/.test(message)) {
    return new StoreRefusedError(
      `The fleet's store at ${where} does not speak TLS; turn it on there, or begin its address with nats://.`,
      { cause: error },
    )
  }
  // What stands before a server that is away, such as the port of a container, takes a connection all the same.
  const what = message.includes('undefined error') ? 'the connection was taken and closed' : message
  return new StoreUnreachableError(
    `The fleet's store at ${where} cannot be reached (${what}); start it, or correct its address.`,
    { cause: error },
  )
}
