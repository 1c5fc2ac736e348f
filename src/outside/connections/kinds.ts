import {
  type ConnectionTarget,
  type DiscoveryTarget,
  type HttpStreamTarget,
  peerOf,
  type SerialTarget,
  type SsdpTarget,
  type TcpTarget,
  type UdpTarget,
  type WebSocketTarget,
} from '../../schema/outside/connection.ts'
import { lazyImport } from '../../base/lazy-import.ts'
import type { ConnectionSettings } from './connection.ts'
import { permittedService } from '../../schema/outside/discovery.ts'
import { parseHttpAddress } from '../http/http-address.ts'
import type { DiscoveryMemory } from './discovery-link.ts'
import type { LinkContext } from './link.ts'
import { openTcp } from './tcp-link.ts'
import { groupsFault, openUdp } from './udp-link.ts'
import { parseWebSocketUrl } from './web-socket-address.ts'

/** What a plugin may connect to: each answers why not, in a sentence, or undefined. */
export interface ConnectionAllowance {
  connect(host: string, port: number, foreignCaller?: string): string | undefined
  serial(path: string, foreignCaller?: string): string | undefined
  discover(service: string, foreignCaller?: string): string | undefined
}

/** What a kind of connection adds to what all have. */
export type Kind = Pick<
  ConnectionSettings,
  'shownTarget' | 'reconnect' | 'refusal' | 'open' | 'addressed' | 'goOnFrom'
>

export function kindOf(
  plugin: string,
  target: ConnectionTarget,
  context: LinkContext,
  allowed: ConnectionAllowance,
): Kind {
  switch (target.kind) {
    case 'webSocket':
      return webSocket(target, context, allowed)
    case 'httpStream':
      return httpStream(plugin, target, context, allowed.connect)
    case 'tcp':
      return tcp(target, context, allowed)
    case 'udp':
      return udp(target, context, allowed)
    case 'serial':
      return serial(target, context, allowed)
    case 'discovery':
    case 'ssdp':
      return discovery(target, context, allowed)
  }
}

/** Loaded when it is first used, and at hand from then on. */
function whenLoaded<T>(load: () => Promise<T>): <R>(use: (loaded: T) => R) => R | Promise<R> {
  const imported = lazyImport(load)
  let loaded: T | undefined
  return (use) => {
    if (loaded !== undefined) return use(loaded)
    return imported().then((found) => {
      loaded = found
      return use(found)
    })
  }
}

const withWebSockets = whenLoaded(async () => (await import('./web-socket-link.ts')).openWebSocket)
const withHttpStreams = whenLoaded(async () => (await import('./http-stream-link.ts')).openHttpStream)
const withSerialPorts = whenLoaded(async () => (await import('./serial-link.ts')).openSerial)
const discoveryLinks = lazyImport(() => import('./discovery-link.ts'))

/** For those that are connected to one other side. */
const toSession: Kind['addressed'] = (name, session) => (name === String(session) ? {} : undefined)

function webSocket(target: WebSocketTarget, context: LinkContext, allowed: ConnectionAllowance): Kind {
  const address = parseWebSocketUrl(target.url)
  const shownTarget = address === undefined ? 'no address' : `${address.url.protocol}//${address.url.host}`
  return {
    shownTarget,
    reconnect: target.reconnect,
    refusal:
      address === undefined
        ? 'the address of a WebSocket is absolute and begins with ws:// or wss://'
        : allowed.connect(address.host, address.port),
    addressed: toSession,
    open: (events) => withWebSockets((open) => () => open(target, events, context)),
  }
}

function httpStream(
  plugin: string,
  { request, reconnect }: HttpStreamTarget,
  context: LinkContext,
  refuse: ConnectionAllowance['connect'],
): Kind {
  /** Where the next attempt goes on. */
  let from = ''
  const connect = (host: string, port: number): string | undefined => refuse(host, port)
  return {
    shownTarget: parseHttpAddress(request.url)?.origin ?? 'no address',
    reconnect,
    // It is asked for each address on the way, the first one too.
    refusal: undefined,
    addressed: toSession,
    goOnFrom(lastEventId) {
      from = lastEventId
    },
    open: (events) =>
      withHttpStreams((open) => () => open({ plugin, request, lastEventId: from, connect }, events, context)),
  }
}

function tcp(target: TcpTarget, context: LinkContext, allowed: ConnectionAllowance): Kind {
  const { host, port, tls, reconnect } = target
  const place = host.includes(':') ? `[${host}]` : host
  return {
    shownTarget: `${tls === undefined ? 'tcp' : 'tls'}://${place}:${port}`,
    reconnect,
    refusal: allowed.connect(host, port),
    addressed: toSession,
    open: (events) => () => openTcp(target, events, context),
  }
}

/** Each datagram is judged by where it goes. */
function udp(target: UdpTarget, context: LinkContext, allowed: ConnectionAllowance): Kind {
  return {
    shownTarget: target.port === undefined ? 'udp' : `udp port ${target.port}`,
    reconnect: target.reconnect,
    refusal: groupsFault(target.groups),
    addressed(name, _session, foreignCaller) {
      const peer = peerOf(name)
      return peer !== undefined && allowed.connect(peer.host, peer.port, foreignCaller) === undefined
        ? { peer }
        : undefined
    },
    open: (events) => () => openUdp(target, events, context),
  }
}

function serial(target: SerialTarget, context: LinkContext, allowed: ConnectionAllowance): Kind {
  const { path } = target.settings
  return {
    shownTarget: path,
    reconnect: target.reconnect,
    refusal: allowed.serial(path),
    addressed: toSession,
    open: (events) => withSerialPorts((open) => () => open(target, events, context)),
  }
}

/** All that look for the same way of being found share its sockets. */
function discovery(
  { kind, wanted, seconds, reconnect }: DiscoveryTarget | SsdpTarget,
  { clock, finders }: LinkContext,
  allowed: ConnectionAllowance,
): Kind {
  const until = seconds === undefined ? undefined : clock.monotonic() + seconds * 1_000
  const memory: DiscoveryMemory = { told: new Map(), until }
  return {
    shownTarget: wanted,
    reconnect,
    refusal: allowed.discover(kind === 'discovery' ? permittedService(wanted) : wanted),
    addressed: () => undefined,
    async open(events) {
      const [{ openDiscovery }, found] = await Promise.all([discoveryLinks(), finders()])
      return () => openDiscovery(wanted, memory, found[kind], clock, events)
    },
  }
}
