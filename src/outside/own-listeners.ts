import { lookup as systemLookup } from 'node:dns'
import {
  connect,
  type LookupFunction,
  type Socket,
  type TcpNetConnectOpts,
  Socket as NetSocket,
} from 'node:net'
import { connect as connectTls, type ConnectionOptions } from 'node:tls'
import { guardLookup } from '../base/network/guarded-lookup.ts'
import { canonicalAddress, kindOfAddress } from '../base/network/ip-address.ts'
import { messageOf } from '../base/problem.ts'
import { listNetworks } from './networks.ts'
import { createSharedLookup } from './shared-lookup.ts'

/**
 * Milliseconds for one of several addresses of a name, until the next one is tried. Long enough for a packet that was lost (it
 * is sent again after one second) and for a device that sleeps: with Node's quarter of a second a slow one is never reached.
 */
export const addressTimeout = 1_500
/** Who has less time in all gets to the second address, too. */
export const addressTimeoutWithin = (milliseconds: number): number =>
  Math.min(addressTimeout, Math.ceil(milliseconds / 2))

/** Milliseconds after which the system asks a silent other side whether it is still there. */
const keepAliveDelay = 30_000

/**
 * The host's own HTTP and MQTT are closed to plugins: whoever may call them commands the host. Every socket for a
 * plugin, of whatever kind, is opened with what is here, and judged by the address that it connects to.
 */
export interface OwnListeners {
  /** Whether one of them may be at this port: then a socket has to be opened with `lookup`, after `refusal`. */
  mayListenAt(port: number): boolean
  /** Why nothing may be sent there, perhaps only now; undefined: it may, or it is a name that `lookup` will judge. */
  refusal(host: string, port: number): Error | undefined
  /** For any socket: finds addresses as the system does, or as a search on the network has. */
  readonly anyLookup: LookupFunction
  /** The same, and fails when one of them is this machine's: there is no second look. */
  readonly lookup: LookupFunction
  /** Rejects with the refusal of a name, for what somebody else will resolve: a proxy. */
  assertNotOwn(host: string, port: number): Promise<void>
  /**
   * A TCP connection that never gets to one of them; a refusal is its error. What is written goes at once, and the other side is
   * asked whether it is there after half a minute of silence.
   */
  connect(options: TcpNetConnectOpts & { host: string }): Socket
  /** The same with TLS. */
  connectTls(options: ConnectionOptions & { host: string; port: number }): Socket
}

export interface OwnListenersSettings {
  /** Ports that this process listens at, on whatever address. */
  ports(): Iterable<number>
  /** Addresses of this machine, apart from loopback. Default: those of its network interfaces now. */
  addresses?: () => Iterable<string>
  /** Default: the system's. It calls back at once or later. */
  lookup?: LookupFunction
}

/** The pure rule: a port of the host's on any address of this machine. */
export function isOwnListener(
  address: string,
  port: number,
  own: { ports: Iterable<number>; addresses: () => Iterable<string> },
): boolean {
  // To ask the system for addresses takes longer than all else that is done here, and nearly all ports are others'.
  return [...own.ports].includes(port) && isThisMachine(address, own.addresses)
}

function isThisMachine(address: string, addresses: () => Iterable<string>): boolean {
  const kind = kindOfAddress(address)
  // What connects to no address in particular gets to this machine.
  if (kind === 'loopback' || kind === 'unspecified') return true
  const canonical = canonicalAddress(address)
  return canonical !== undefined && [...addresses()].some((one) => canonicalAddress(one) === canonical)
}

interface ElsewhereOptions {
  host: string
  port: number
  lookup?: LookupFunction | undefined
  autoSelectFamilyAttemptTimeout?: number | undefined
}

export function createOwnListeners({
  ports,
  addresses = interfaceAddresses,
  ...settings
}: OwnListenersSettings): OwnListeners {
  const lookup = createSharedLookup(settings.lookup ?? systemLookup)
  const concerns = (port: number): boolean => [...ports()].includes(port)

  function refusal(host: string, port: number): Error | undefined {
    return judge(host, () => isOwnListener(host, port, { ports: ports(), addresses }))
  }

  const guardedLookup = guardLookup(lookup, (found, hostname) =>
    judge(hostname, () => found.some((address) => isThisMachine(address, addresses))),
  )

  function elsewhere<T extends ElsewhereOptions>(options: T, open: (options: T) => Socket): Socket {
    const reason = refusal(options.host, options.port)
    if (reason !== undefined) return new NetSocket().destroy(reason)
    const socket = open({
      autoSelectFamilyAttemptTimeout: addressTimeout,
      ...options,
      lookup: concerns(options.port) ? guardedLookup : lookup,
    })
    // As options `node:tls` leaves them out.
    return socket.once('connect', () => socket.setNoDelay().setKeepAlive(true, keepAliveDelay))
  }

  return {
    mayListenAt: concerns,
    refusal,
    anyLookup: lookup,
    lookup: guardedLookup,
    assertNotOwn(host, port) {
      const literal = refusal(host, port)
      if (literal !== undefined) return Promise.reject(literal)
      if (!concerns(port) || canonicalAddress(host) !== undefined) return Promise.resolve()
      return new Promise((resolve, reject) => {
        guardedLookup(host, { all: true }, (error) => {
          if (error !== null && judgements.has(error)) reject(error)
          else resolve()
        })
      })
    },
    connect: (options) => elsewhere(options, connect),
    connectTls: (options) => elsewhere(options, connectTls),
  }
}

const judgements = new WeakMap<Error, 'refused' | 'undecided'>()

/** What a host that has no file descriptor left cannot tell it does not allow either. */
function judge(host: string, isOwn: () => boolean): Error | undefined {
  try {
    if (!isOwn()) return undefined
  } catch (error) {
    const undecided = new Error(
      `it cannot be told whether ${host} is this host itself at that port, whose HTTP and MQTT are closed to plugins: ${messageOf(error)}`,
    )
    judgements.set(undecided, 'undecided')
    return undecided
  }
  const refused = new Error(
    `${host} is this host itself at that port: its own HTTP and MQTT are closed to plugins. The plugin API has what a plugin may do with the host.`,
  )
  judgements.set(refused, 'refused')
  return refused
}

/** Whether it was refused here, and would be again. */
export function isRefusal(error: unknown): error is Error {
  return error instanceof Error && judgements.get(error) === 'refused'
}

/** Whether it may go another time: what it leads to could not be told. */
export function isUndecided(error: unknown): boolean {
  return error instanceof Error && judgements.get(error) === 'undecided'
}

export function interfaceAddresses(): string[] {
  return Object.values(listNetworks()).flatMap((all) => (all ?? []).map(({ address }) => address))
}
