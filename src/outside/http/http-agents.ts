import { getOrInsert } from '../../base/get-or-insert.ts'
import { Socket } from 'node:net'
import type { buildConnector, Dispatcher, Pool } from 'undici'
import { lazyImport } from '../../base/lazy-import.ts'
import { isLoopback } from '../../base/network/loopback.ts'
import { abortable } from '../../base/time/abortable.ts'
import { portOf } from '../../base/network/url-port.ts'
import type { HttpAddress } from './http-address.ts'
import { createKeptConnections } from './kept-connections.ts'
import { createStaleConnections } from './stale-connections.ts'
import { addressTimeout, type OwnListeners } from '../own-listeners.ts'

/** Milliseconds until a server that does not pick up counts as absent; a request may set itself less. */
const connectTimeout = 10_000

/** Loading it takes longer than half of a start, and many hosts never need it. */
const library = lazyImport(() => import('undici'))

/** Answers the socket, which the types of undici do not know. */
type Connector = (...args: Parameters<buildConnector.connector>) => unknown

/** What undici gives to who makes its connections to one server, or to a proxy. */
type Dialling = Omit<Pool.Options, 'connect'> & { connect: Connector }

/** `signal`: ends it, also while its connection is being made. */
type RequestOptions = Dispatcher.RequestOptions & { origin: string; signal: AbortSignal }

/** Who sends requests, over connections that are kept. */
export interface HttpAgent {
  request(options: RequestOptions): Promise<Dispatcher.ResponseData>
}

export type Environment = Readonly<Record<string, string | undefined>>

/** Keeps the connections of all plugins: through the proxy of the environment, or directly. */
export interface HttpAgents {
  /**
   * `insecure`: whoever holds the certificate. Rejects when the environment names an impossible proxy, when the
   * proxy would be asked for the host itself, and as soon as nobody waits.
   */
  agentFor(address: HttpAddress, insecure: boolean, signal: AbortSignal): Promise<HttpAgent>
  /** Whether the server has closed a connection that was kept just when the request went: another one may do better. */
  wasStale(error: unknown): boolean
  /** Ends every connection at once. */
  close(): Promise<void>
}

const nobodyWaits = (): Error => new Error('nobody waits for this connection any more')

export function createHttpAgents(environment: Environment, own: OwnListeners): HttpAgents {
  const agents = new Map<string, Promise<Dispatcher>>()
  const staleConnections = createStaleConnections()
  const keep = createKeptConnections()
  /** Of the request that is just being sent: what is connected meanwhile is connected for it. */
  let connectingFor: AbortSignal | undefined
  /** Of the requests whose answer has not begun. */
  const unanswered = new Set<AbortSignal>()

  // undici reads the process's environment where it is given nothing, so it is given an empty text.
  const variable = (name: string): string => environment[name.toLowerCase()] ?? environment[name] ?? ''
  const proxy = (name: string): string => {
    const value = variable(name).trim()
    return value === '' || value.includes('://') ? value : `http://${value}`
  }

  async function create(direct: boolean, insecure: boolean): Promise<Dispatcher> {
    const { Agent, buildConnector, Client, EnvHttpProxyAgent, Pool } = (await library()).default
    const patience = { timeout: connectTimeout, autoSelectFamilyAttemptTimeout: addressTimeout }
    const options = { ...patience, rejectUnauthorized: !insecure }
    const pool = (origin: string | URL, { connect, ...others }: Dialling): Dispatcher => {
      const dial = untilNobodyWaits(connect)
      const made: Pool = new Pool(origin, {
        ...others,
        factory: (server, options) => client(server, options as Dialling),
        connect: (dialled, tell) =>
          dial(dialled, (...outcome) => {
            if (outcome[0] === null) keep(made, outcome[1])
            tell(...outcome)
          }),
      })
      return made
    }
    /** One connection, for one request at a time. */
    const client = (server: URL, { connect, ...others }: Dialling): Dispatcher => {
      let asks: AbortSignal | undefined
      const made = new Client(server, {
        ...others,
        connect(dialled, tell) {
          // undici connects again, for nobody, after a request that was given up has ended its connection.
          const isWanted = asks === undefined || (unanswered.has(asks) && !asks.aborted)
          if (isWanted) connect(dialled, tell)
          else tell(nobodyWaits(), null)
        },
      })
      const dispatch = made.dispatch.bind(made)
      made.dispatch = (options, handler) => {
        asks = (options as Partial<RequestOptions>).signal
        return dispatch(options, handler)
      }
      return made
    }
    const connect = elsewhere(
      buildConnector({ ...options, lookup: own.anyLookup }),
      buildConnector({ ...options, lookup: own.lookup }),
    )
    if (direct) return new Agent({ connect, factory: pool })
    return new EnvHttpProxyAgent({
      connect,
      factory: pool,
      clientFactory: pool,
      proxyTls: { ...patience, lookup: own.anyLookup },
      requestTls: options,
      // Only https goes through a tunnel: proxies commonly refuse one to any other port.
      proxyTunnel: false,
      httpProxy: proxy('HTTP_PROXY'),
      httpsProxy: proxy('HTTPS_PROXY'),
      noProxy: variable('NO_PROXY'),
    })
  }

  /** Judges each new connection by where it really leads; one that is kept was judged when it was made. */
  function elsewhere(plain: Connector, guarded: Connector): buildConnector.connector {
    return (options, tell) => {
      const callback: buildConnector.Callback = (...made) => {
        if (made[0] === null) staleConnections.watch(made[1])
        tell(...made)
      }
      const port = Number(options.port) || (options.protocol === 'https:' ? 443 : 80)
      const refusal = own.refusal(options.hostname, port)
      if (refusal !== undefined) {
        callback(refusal, null)
        return
      }
      return (own.mayListenAt(port) ? guarded : plain)(options, callback)
    }
  }

  /** Connections that are made, also to a proxy, end with the request for which they are. */
  function untilNobodyWaits(connect: Connector): buildConnector.connector {
    return (options, tell) => {
      const signal = connectingFor
      const socket = connect(options, (...made) => {
        signal?.removeEventListener('abort', giveUp)
        tell(...made)
      })
      function giveUp(): void {
        if (socket instanceof Socket) socket.destroy(nobodyWaits())
      }
      signal?.addEventListener('abort', giveUp)
    }
  }

  return {
    wasStale: staleConnections.isErrorOfOne,
    async agentFor(address, insecure, signal) {
      // What is this machine's own a proxy elsewhere cannot reach.
      const direct = isLoopback(address.hostname)
      if (!direct) {
        const judged = own.assertNotOwn(address.hostname, portOf(address.origin))
        await abortable(signal, judged, nobodyWaits, () => undefined)
      }
      const key = `${direct} ${insecure}`
      const agent = getOrInsert(agents, key, () => create(direct, insecure))
      const dispatcher = await agent.catch((error: unknown) => {
        agents.delete(key)
        throw error
      })
      return {
        request(options) {
          options.signal.throwIfAborted()
          // undici hears of the signal only once there is a connection, for which it takes its time.
          connectingFor = options.signal
          unanswered.add(options.signal)
          try {
            return dispatcher.request(options).finally(() => unanswered.delete(options.signal))
          } finally {
            connectingFor = undefined
          }
        },
      }
    },
    async close() {
      const all = [...agents.values()]
      agents.clear()
      await Promise.allSettled(all.map(async (agent) => (await agent).destroy()))
    },
  }
}
