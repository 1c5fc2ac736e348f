import type { Duplex } from 'node:stream'
import { peerAddress } from './client-address.ts'
import { isLoopback } from './loopback.ts'

/** The connections of a server: how many there are, and of whom. */

export interface ConnectionLimits {
  /** Connections at a time. */
  connections: number
  /** Of one address, so that one machine does not take them all. This machine itself, and a proxy on it, may. */
  connectionsPerAddress: number
  /** Whether an address is of this machine; default: the loopback addresses. */
  isOwnAddress?: (address: string) => boolean
}

export interface Connections extends Iterable<Duplex> {
  /** Why one more over this socket cannot be taken, for which room is made where there is none; undefined: it can. */
  refusal(socket: Duplex): string | undefined
  /** Counts it until it is closed, or the answer is called. `socket`: what carries the stream of a WebSocket. */
  add(connection: Duplex, socket: Duplex): () => void
}

/** `makeRoom`: when there are as many as there may be, and one comes whose address may have one more. */
export function createConnections(
  limits: ConnectionLimits,
  makeRoom: () => void = () => undefined,
): Connections {
  const { isOwnAddress = isLoopback } = limits
  const all = new Set<Duplex>()
  const byAddress = new Map<string, number>()
  const isFull = (): boolean => all.size >= limits.connections

  return {
    [Symbol.iterator]: () => all.values(),
    refusal(socket) {
      const address = peerAddress(socket)
      const taken = byAddress.get(address) ?? 0
      if (!isOwnAddress(address) && taken >= limits.connectionsPerAddress)
        return 'its address has as many as it may'
      if (isFull()) makeRoom()
      return isFull() ? 'there are as many as there may be' : undefined
    },
    add(connection, socket) {
      const address = peerAddress(socket)
      all.add(connection)
      byAddress.set(address, (byAddress.get(address) ?? 0) + 1)
      const release = (): void => {
        if (!all.delete(connection)) return
        const left = (byAddress.get(address) ?? 1) - 1
        if (left === 0) byAddress.delete(address)
        else byAddress.set(address, left)
      }
      connection.once('close', release)
      return release
    },
  }
}
