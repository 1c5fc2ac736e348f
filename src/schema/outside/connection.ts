import Type, { type Static } from 'typebox'
import { nullable } from '../parsing/nullable.ts'
import {
  certificatesLimit,
  connectTimeoutLimit,
  groupLimit,
  pingLimits,
  protocolLimit,
  reconnectLimits,
  silenceLimit,
} from './connection-limits.ts'
import { readSearchTarget, readServiceType, secondsLimit, searchedTextLimit } from './discovery.ts'
import { HeaderBlock, Host, HttpRequest, Port } from './outside.ts'
import type { Peer } from './peer.ts'
import { SerialSettings } from './serial-settings.ts'
import { Text, textLimits } from '../parsing/text.ts'
import { oneOf } from '../parsing/one-of.ts'

export * from './connection-limits.ts'
export * from './peer.ts'
export { SerialSettings } from './serial-settings.ts'

/**
 * Connections of plugins: what a worker asks for, and what it is told. Both sides know a connection by a number of the
 * worker's. Data cross as frames (`message-frames.ts`): `data` are bytes, `text` is a text message of a WebSocket, or what
 * was found on the network, as JSON. What streams bring crosses as it comes; the worker takes it apart, since it is the
 * plugin's time. To the host the name of a frame is the session that it is for, so that nothing reaches a later one; a
 * datagram's is its peer, in both directions.
 */

const Milliseconds = Type.Number({ minimum: reconnectLimits.least, maximum: reconnectLimits.most })
/** After a loss; absent: never again. */
const Reconnect = Type.Optional(Type.Object({ min: Milliseconds, max: Milliseconds }))

export const WebSocketTarget = Type.Object({
  kind: Type.Literal('webSocket'),
  /** Absolute; may hold `user:pass@`. */
  url: Text(textLimits.url),
  headers: HeaderBlock,
  protocols: Type.Array(Text(textLimits.label), { maxItems: protocolLimit }),
  /** Milliseconds between two pings; absent: none. */
  ping: Type.Optional(Type.Number({ minimum: pingLimits.least, maximum: pingLimits.most })),
  /** Accept a certificate that nobody vouches for. */
  insecure: Type.Boolean(),
  reconnect: Reconnect,
})
export type WebSocketTarget = Static<typeof WebSocketTarget>

/** Milliseconds without a byte of which the plugin is told, since it ends a frame; absent: it is not told. */
const Silence = Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: silenceLimit }))

export const TcpTarget = Type.Object({
  kind: Type.Literal('tcp'),
  host: Host,
  port: Port,
  /** Absent: without TLS. */
  tls: Type.Optional(
    Type.Object({
      insecure: Type.Boolean(),
      /** Absent: the host. */
      serverName: Type.Optional(Host),
      /** Certificates that vouch for the server in place of the usual ones, as PEM. */
      certificates: Type.Optional(Text(certificatesLimit)),
    }),
  ),
  /** Milliseconds until it has to be connected. */
  timeout: Type.Number({ exclusiveMinimum: 0, maximum: connectTimeoutLimit }),
  silence: Silence,
  reconnect: Reconnect,
})
export type TcpTarget = Static<typeof TcpTarget>

export const UdpTarget = Type.Object({
  kind: Type.Literal('udp'),
  /** Absent: any that is free. */
  port: Type.Optional(Port),
  groups: Type.Array(Host, { maxItems: groupLimit }),
  broadcast: Type.Boolean(),
  reconnect: Reconnect,
})
export type UdpTarget = Static<typeof UdpTarget>

/** An answer over HTTP that goes on: events (`text/event-stream`), or lines. */
export const HttpStreamTarget = Type.Object({
  kind: Type.Literal('httpStream'),
  /** `timeout`: until the head of the answer. */
  request: HttpRequest,
  reconnect: Reconnect,
})
export type HttpStreamTarget = Static<typeof HttpStreamTarget>

export const SerialTarget = Type.Object({
  kind: Type.Literal('serial'),
  settings: SerialSettings,
  silence: Silence,
  reconnect: Reconnect,
})
export type SerialTarget = Static<typeof SerialTarget>

const DiscoveryTime = Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: secondsLimit }))

/** Services of DNS-SD, over multicast DNS. */
export const DiscoveryTarget = Type.Object({
  kind: Type.Literal('discovery'),
  /** As `readServiceType` gives it. */
  wanted: Type.Refine(Text(searchedTextLimit), (service) => readServiceType(service) === service),
  /** How long; absent: as long as the plugin runs. */
  seconds: DiscoveryTime,
  reconnect: Reconnect,
})
export type DiscoveryTarget = Static<typeof DiscoveryTarget>

/** Devices and services of UPnP, over SSDP. */
export const SsdpTarget = Type.Object({
  kind: Type.Literal('ssdp'),
  /** As `readSearchTarget` gives it. */
  wanted: Type.Refine(Text(searchedTextLimit), (target) => readSearchTarget(target) === target),
  seconds: DiscoveryTime,
  reconnect: Reconnect,
})
export type SsdpTarget = Static<typeof SsdpTarget>

export const ConnectionTarget = Type.Union([
  WebSocketTarget,
  HttpStreamTarget,
  TcpTarget,
  UdpTarget,
  SerialTarget,
  DiscoveryTarget,
  SsdpTarget,
])
export type ConnectionTarget = Static<typeof ConnectionTarget>
export type ConnectionKind = ConnectionTarget['kind']

export interface OpenedDetails {
  /** The own one of a UDP socket. */
  port?: number
  /** An answer over HTTP is `text/event-stream`. */
  isEventStream?: boolean
}

/** What a worker is told of a connection, beside its data. */
export type ConnectionEvent =
  /** `session` counts from 1. */
  | ({ event: 'opened'; session: number } & OpenedDetails)
  /** Nothing has come for as long as the target says. */
  | { event: 'silence' }
  /** `reason`: null when the other side has ended it in order. `final`: there is no other attempt. */
  | { event: 'closed'; reason: string | null; code?: number; final: boolean }
  /** So many bytes, with the overhead of each message, have gone. */
  | { event: 'written'; bytes: number }

/** What a stream consists of, as errors call it. */
export const overlongParts = ['frame', 'line', 'event'] as const
export type OverlongPart = (typeof overlongParts)[number]

/** A message on its way; `peer` of a datagram only. */
export interface ConnectionMessage {
  text: boolean
  peer?: Peer | undefined
}

/** What hears of a connection. */
export interface ConnectionListener {
  event(event: ConnectionEvent): void
  /** Does it in the plugin's next turn: it takes time, which is the plugin's. Never at once. */
  later(task: () => void): void
  /** The bytes are somebody else's afterwards. */
  message(payload: Uint8Array, message: ConnectionMessage): void
  /** A line for the plugin's log. */
  warn(message: string): void
}

/** The host's end of a connection. After `close` and `destroy` nothing is heard of it. */
export interface Connection {
  readonly kind: ConnectionKind
  /** `name`: see above. What is for another session is lost with it. */
  write(name: string, payload: Uint8Array, text: boolean, foreignCaller?: string): void
  /** Nothing more is taken from the other side until `resume`. */
  pause(): void
  resume(): void
  /** Something in what has come in this session has more bytes than it may. */
  overlong(session: number, what: OverlongPart): void
  /** The plugin has taken all of the session that was lost: from where a stream over HTTP goes on, and when at the soonest. */
  continues(lastEventId: string, wait: number): void
  /** Ends it when what has been written has gone; resolves then, within seconds in any case. */
  close(): Promise<void>
  /** Ends it at once. */
  destroy(): void
}

/** Bytes that connections have carried, without those of protocols below them. */
export interface ConnectionTraffic {
  /** Full id. */
  plugin: string
  received: number
  sent: number
}

/** A connection, as people see it. */
export const ConnectionView = Type.Object({
  kind: Type.String({ description: 'webSocket, httpStream, tcp, udp, serial, discovery, ssdp' }),
  target: Type.String({ description: 'Where it leads, without credentials and paths' }),
  state: oneOf(['connecting', 'open', 'waiting', 'closing'], {
    description: 'waiting: for its next attempt',
  }),
  since: Type.String({ description: 'When it got into this state; ISO 8601, UTC' }),
  lastError: nullable(Type.String(), { description: 'Why it was lost last' }),
  bytesIn: Type.Integer(),
  bytesOut: Type.Integer(),
})
export type ConnectionView = Static<typeof ConnectionView>
