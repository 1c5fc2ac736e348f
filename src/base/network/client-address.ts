import type { IncomingMessage } from 'node:http'
import { BlockList, isIPv4, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { canonicalAddress } from './ip-address.ts'

/** Whose connection or request it is, by address. */
export interface ClientAddresses {
  /** Of the client that sent the request: what trusted proxies say, else the other side of the connection. */
  ofRequest(request: IncomingMessage): string
  /** Of the other side, whoever it speaks for. */
  ofConnection(socket: Duplex): string
  /** Whether the other side is a trusted proxy, which speaks for many. */
  isProxy(socket: Duplex): boolean
}

/** An address, or a network: `10.0.0.0/8`. */
const networkForm = /^([^/]+)(?:\/(\d{1,3}))?$/

/** The address and the bits of a network; undefined: it is none. */
export function parseNetwork(text: string): { address: string; bits: number } | undefined {
  const [, given = '', digits] = networkForm.exec(text) ?? []
  const address = canonicalAddress(given)
  if (address === undefined) return undefined
  const most = isIPv4(address) ? 32 : 128
  const bits = digits === undefined ? most : Number(digits)
  return bits <= most ? { address, bits } : undefined
}

/**
 * `trusted`: addresses and networks of proxies, whose `X-Forwarded-For` is believed. Everybody can send that header,
 * so that nobody's is believed unless the owner says so.
 */
export function createClientAddresses(trusted: readonly string[]): ClientAddresses {
  const proxies = new BlockList()
  for (const text of trusted) {
    const network = parseNetwork(text)
    if (network !== undefined) proxies.addSubnet(network.address, network.bits, familyOf(network.address))
  }
  const isProxy = (address: string): boolean =>
    trusted.length > 0 && canonicalAddress(address) !== undefined && proxies.check(address, familyOf(address))

  return {
    ofRequest({ socket, headers }) {
      const peer = peerAddress(socket)
      if (!isProxy(peer)) return peer
      // Each proxy appends whom it heard: from the end on, the first that is no proxy is the client.
      const said = String(headers['x-forwarded-for'] ?? '').split(',')
      let client = peer
      for (const text of said.reverse()) {
        const address = forwardedAddress(text.trim())
        if (address === undefined) break
        client = address
        if (!isProxy(address)) break
      }
      return client
    },
    ofConnection: peerAddress,
    isProxy: (socket) => isProxy(peerAddress(socket)),
  }
}

/** Some proxies append the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function forwardedAddress(text: string): string | undefined {
  return canonicalAddress(text.replace(/^(\[[^\]]*\]|[\d.]+):\d{1,5}$/, '$1'))
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv4(address) ? 'ipv4' : 'ipv6'
}

/** Of the other side; an IPv4 address in IPv6 clothes is the IPv4 address. */
export function peerAddress(socket: Duplex): string {
  const address = socket instanceof Socket ? (socket.remoteAddress ?? '') : ''
  return canonicalAddress(address) ?? address
}

/** The other side with its port: the same for a connection and the encrypted one that it carries. */
export function peerOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}

/** Who has one IPv6 address has a whole network of them (a /64), which counts as one. */
export function clientNetwork(address: string): string {
  const canonical = canonicalAddress(address) ?? address
  return isIPv4(canonical) ? canonical : canonical.split(':').slice(0, 4).join(':')
}
