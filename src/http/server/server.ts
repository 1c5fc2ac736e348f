import { createServer, type IncomingMessage, type RequestListener, ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { getOrInsert } from '../../base/get-or-insert.ts'
import type { Clock } from '../../base/time/clock.ts'
import { type ConnectionLimits, createConnections } from '../../base/network/connections.ts'
import { clientNetwork, peerOf } from '../../base/network/client-address.ts'
import { fileDescriptorShortage } from '../../base/network/file-descriptor-shortage.ts'
import { messageOf, Problem, problemDocument, systemErrorCode } from '../../base/problem.ts'
import { followIdentity, secureOptions, type TlsSource } from '../../base/keys/tls-identity.ts'
import { problemType, refuseConnection } from '../answers/problem-answer.ts'
import { securityHeaders } from '../../base/network/security-headers.ts'
import { coalescedRequests } from './coalesced-request.ts'
import { malformedRequest } from './malformed-request.ts'
import { createPipelinedRequests, type PipelinedRequests } from './pipelined-requests.ts'

/** Most bytes of a request's head: far more than any client of this API sends. */
const headerLimit = 16 * 1024
/** How long the head of a request may take, in milliseconds, so that a slow one does not hold a connection. */
const headersTime = 10_000
/** How long a whole request may take to arrive, in milliseconds: 1 MiB over a poor line. */
const requestTime = 30_000
/**
 * How long an idle connection is kept for the next request, in milliseconds. Longer than proxies keep theirs (60 s is
 * usual, Caddy has 2 min): a request that crosses the end of its connection fails, and a proxy makes a 502 of it.
 */
const keepAliveTime = 130_000
/** How often the two times above are looked at, in milliseconds. */
const checkInterval = 2_000
/** How long answers under way get when the server closes, in milliseconds. */
const closingGrace = 2_000

/**
 * Connections at a time, event streams included; a WebSocket counts until it is one. Each takes a file descriptor,
 * which the host needs for its files, too. Of one address other than this machine: some dozen browsers with an event stream in
 * each of their tabs.
 */
const usualLimits: ConnectionLimits = { connections: 1_000, connectionsPerAddress: 250 }
/** The part of all places that the bodies of one network leave to those who have not asked yet. */
const partToAsk = 0.05

export interface ServerSettings {
  bind: string
  port: number
  clock: Clock
  /** Encrypts every connection. */
  tls?: TlsSource | undefined
  handle: RequestListener
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  /** Whether no connection is taken from where this one comes, without a word. */
  isCutOff?(socket: Socket): boolean
  /** Hears of each connection that was one too many, and why. */
  refused?(reason: string): void
  /** Hears what `fileDescriptorShortage` tells. */
  short?(shortage: string): void
  /** In place of the usual ones. */
  limits?: ConnectionLimits
}

/** One connection, with what came by it. */
interface Client extends PipelinedRequests {
  /** Where it comes from: an address, or what one machine may have of them. */
  network: string
}

export interface Server {
  /** Port that is listened at; 0 before the start. */
  readonly port: number
  /** Throws an Error whose message says what to do. */
  start(): Promise<void>
  /** Ends idle connections at once, the others after their answer or a grace time. Idempotent. */
  close(): Promise<void>
}

/** An HTTP server that gives a slow, broken or hostile client neither time nor memory. */
export function createHttpServer(settings: ServerSettings): Server {
  const { bind, port, clock, tls, handle, upgrade, isCutOff, refused, short, limits = usualLimits } = settings
  // Requests that are not answered yet, by connection: in the order in which the first of them began, or the last of them was
  // answered where there is none. Connections that were upgraded belong to somebody else.
  const connections = new Map<Socket, Client>()
  const taken = createConnections(limits, makeRoom)
  const placesToAsk = limits.connections * partToAsk
  // How to stop counting a connection, by the address of the other side.
  const places = new Map<string, () => void>()
  let closing: Promise<void> | undefined
  let allGone: (() => void) | undefined

  // Connections that have not agreed on their encryption yet, by the address of the other side.
  const handshakes = new Map<string, Socket>()
  const options = {
    IncomingMessage: coalescedRequests(),
    maxHeaderSize: headerLimit,
    // Asked for later: Node's own refusal would be without the headers that every answer has.
    requireHostHeader: false,
    headersTimeout: headersTime,
    requestTimeout: requestTime,
    keepAliveTimeout: keepAliveTime,
    connectionsCheckingInterval: checkInterval,
  }
  const secureServer =
    tls === undefined
      ? undefined
      : createSecureServer({ ...options, ...secureOptions(tls.identity), handshakeTimeout: headersTime })
  const server = secureServer ?? createServer(options)
  let unfollow: (() => void) | undefined
  server.on('connection', (socket: Socket) => {
    if (isCutOff?.(socket) === true) {
      socket.destroy()
      return
    }
    const refusal = taken.refusal(socket)
    if (refusal !== undefined) {
      refused?.(refusal)
      socket.destroy()
      return
    }
    const shortage = fileDescriptorShortage(socket)
    if (shortage !== undefined) short?.(shortage)
    const peer = peerOf(socket)
    places.set(peer, taken.add(socket, socket))
    if (tls !== undefined) handshakes.set(peer, socket)
    socket.on('close', () => {
      handshakes.delete(peer)
      places.delete(peer)
    })
  })
  server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    handshakes.delete(peerOf(socket))
    const network = clientNetwork(socket.remoteAddress ?? '')
    connections.set(socket, { ...createPipelinedRequests(socket, handle), network })
    socket.on('close', () => release(socket))
  })
  server.on('request', (request, response) => {
    const { socket } = request
    // Whoever leaves the host out does not speak HTTP/1.1: it is answered (400), and once.
    if (closing !== undefined || request.headers.host === undefined) response.shouldKeepAlive = false
    const requests = connections.get(socket)
    if (requests?.answers.size === 0) moveToEnd(socket, requests)
    requests?.add(response, () => {
      if (closing !== undefined && requests.answers.size === 0) socket.destroySoon()
      else moveToEnd(socket, requests)
    })
  })
  server.on('upgrade', (request, socket, head) => {
    if (isOptional(request)) {
      answerWithoutUpgrade(request)
      return
    }
    places.get(peerOf(request.socket))?.()
    release(request.socket)
    upgrade(request, socket, head)
  })
  server.on('checkExpectation', ({ url }, response: ServerResponse) => {
    const problem = new Problem('body_invalid', 'The only expectation known is 100-continue.')
    const document = problemDocument(problem, url?.split('?', 1)[0])
    const text = JSON.stringify({ ...document, status: 417 })
    const headers = { 'Content-Type': problemType, 'Content-Length': Buffer.byteLength(text) }
    response.writeHead(417, { ...securityHeaders, ...headers, Connection: 'close' })
    response.end(text)
  })
  server.on('clientError', (error, socket) => {
    // Whoever speaks without encryption could not read the answer.
    if (tls !== undefined && ![...connections.keys()].some((known) => known === socket)) {
      socket.destroy()
      return
    }
    const [first, ...more] = [...connections].find(([known]) => known === socket)?.[1].answers ?? []
    // It is about the body of the one that is under way where that has not come to its end.
    const isOfBody = first !== undefined && more.length === 0 && !first.headersSent && !first.req.complete
    const isAnswering = first !== undefined && !isOfBody
    if (!socket.writable || isAnswering || systemErrorCode(error) === 'ECONNRESET') {
      socket.destroy()
      return
    }
    refuseConnection(socket, malformedRequest(error, headerLimit), clock)
    // What else comes of it is not heard: nothing is done that was refused.
    if (isOfBody) first.req.socket.destroySoon()
  })

  function moveToEnd(socket: Socket, client: Client): void {
    if (connections.delete(socket)) connections.set(socket, client)
  }

  /**
   * A thousand that ask nothing keep nobody out: the one that has done so for the longest time goes, else the one that has been
   * agreeing on its encryption for the longest, else the one that has been sending a body for the longest, of the network that
   * sends most of them: whoever sends many takes no place from who sends one. That one goes first where bodies leave next to no
   * place to others: whoever comes needs a moment to ask, and would make room for the next one before that.
   */
  function makeRoom(): void {
    const asking: Socket[] = []
    const sending = new Map<string, Socket[]>()
    for (const [socket, { answers, network }] of connections) {
      const [first] = answers
      if (first?.req.complete === false) getOrInsert(sending, network, () => []).push(socket)
      if (first !== undefined) continue
      asking.push(socket)
      if (asking.length > placesToAsk && asking.some(evict)) return
    }
    asking.push(...handshakes.values())
    const most = [...sending.values()].reduce((one, other) => (other.length > one.length ? other : one), [])
    const isCrowded = asking.length <= placesToAsk && most.length > placesToAsk
    const order = isCrowded ? [most, asking] : [asking, most]
    order.some((sockets) => sockets.some(evict))
  }

  /** False: it is not counted any more. */
  function evict(socket: Socket): boolean {
    const peer = peerOf(socket)
    const leave = places.get(peer)
    if (leave === undefined) return false
    places.delete(peer)
    leave()
    socket.destroy()
    return true
  }

  /** Node has let go of the connection already: it ends with this answer. */
  function answerWithoutUpgrade(request: IncomingMessage): void {
    const { socket } = request
    const response = new ServerResponse(request)
    response.shouldKeepAlive = false
    response.assignSocket(socket)
    response.on('finish', () => socket.destroySoon())
    socket.on('error', () => socket.destroy())
    server.emit('request', request, response)
  }

  function release(socket: Socket): void {
    connections.delete(socket)
    if (connections.size === 0) allGone?.()
  }

  async function close(): Promise<void> {
    unfollow?.()
    server.close()
    for (const socket of handshakes.values()) socket.destroy()
    for (const [socket, { answers }] of connections) if (answers.size === 0) socket.destroy()
    const grace = clock.schedule(closingGrace, () => {
      for (const socket of connections.keys()) socket.destroy()
    })
    await new Promise<void>((resolve) => {
      allGone = resolve
      if (connections.size === 0) resolve()
    })
    grace.cancel()
  }

  return {
    get port() {
      const address = server.address()
      return address !== null && typeof address === 'object' ? address.port : 0
    },
    start: () =>
      new Promise((resolve, reject) => {
        const fail = (error: Error): void => reject(listenError(error, bind, port))
        server.once('error', fail)
        if (secureServer !== undefined && tls !== undefined) unfollow = followIdentity(secureServer, tls)
        server.listen(port, bare(bind), () => {
          server.off('error', fail)
          resolve()
        })
      }),
    close: () => (closing ??= close()),
  }
}

/**
 * An offer of HTTP/2, which some clients make with their first request: HTTP/1.1 may answer as if it were not
 * there. Node's parser does not give the body of such a request, so one with a body is refused.
 */
function isOptional({ headers, method }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'h2c' && (method === 'GET' || method === 'HEAD')
}

/** `[::1]` without its brackets, as the operating system wants it. */
function bare(bind: string): string {
  return bind.replace(/^\[(.*)\]$/, '$1')
}

function listenError(error: unknown, bind: string, port: number): Error {
  const code = systemErrorCode(error)
  const sentence: Record<string, string> = {
    EADDRINUSE: `Port ${port} on ${bind} is in use by another program: set HOST_HTTP_PORT to a free port (0 takes any).`,
    EACCES: `Port ${port} on ${bind} needs more rights: set HOST_HTTP_PORT to a port above 1023.`,
    EADDRNOTAVAIL: `${bind} is not an address of this machine: correct HOST_HTTP_BIND.`,
    ENOTFOUND: `${bind} is not an address of this machine: correct HOST_HTTP_BIND.`,
  }
  const detail =
    sentence[code ?? ''] ??
    `Port ${port} on ${bind} cannot be used (${messageOf(error)}): change HOST_HTTP_PORT or HOST_HTTP_BIND.`
  return new Error(detail, { cause: error })
}
