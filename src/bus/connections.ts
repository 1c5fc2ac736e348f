import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { isLoopback } from '../base/loopback.ts'

/** The connections of the embedded broker: how many there are, and of whom. */

/** Connections of all kinds at a time; each costs some 20 kB. */
export const connectionsLimit = 1_000
/**
 * Connections of one address at a time, so that one machine does not take them all. This machine itself, and a
 * proxy on it, may.
 */
export const connectionsPerAddressLimit = 250

export interface ConnectionLimits {
  connections: number
  connectionsPerAddress: number
  /** Whether an address is of this machine. */
  isOwnAddress: (address: string) => boolean
}

export interface Connections extends Iterable<Duplex> {
  /** Why one more over this socket cannot be taken; undefined: it can. */
  refusal(socket: Duplex): string | undefined
  /** `socket`: what carries the stream of a WebSocket. */
  add(connection: Duplex, socket: Duplex): void
}

export function createConnections(given: Partial<ConnectionLimits> = {}): Connections {
  const limits: ConnectionLimits = {
    connections: connectionsLimit,
    connectionsPerAddress: connectionsPerAddressLimit,
    isOwnAddress: isLoopback,
    ...given,
  }
  const all = new Set<Duplex>()
  const byAddress = new Map<string, number>()

  return {
    [Symbol.iterator]: () => all.values(),
    refusal(socket) {
      if (all.size >= limits.connections) return 'there are as many as there may be'
      const address = addressOf(socket)
      const taken = byAddress.get(address) ?? 0
      if (limits.isOwnAddress(address) || taken < limits.connectionsPerAddress) return undefined
      return 'its address has as many as it may'
    },
    add(connection, socket) {
      const address = addressOf(socket)
      all.add(connection)
      byAddress.set(address, (byAddress.get(address) ?? 0) + 1)
      connection.once('close', () => {
        all.delete(connection)
        const left = (byAddress.get(address) ?? 1) - 1
        if (left === 0) byAddress.delete(address)
        else byAddress.set(address, left)
      })
    },
  }
}

/** The other side; an IPv4 address in IPv6 clothes is the IPv4 address. */
function addressOf(socket: Duplex): string {
  const address = socket instanceof Socket ? (socket.remoteAddress ?? '') : ''
  return address.replace(/^::ffff:(?=\d+\.)/i, '')
}
