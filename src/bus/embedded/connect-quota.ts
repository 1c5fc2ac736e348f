import type { Duplex } from 'node:stream'
import { connectBytesLimits } from '../broker-limits.ts'
import { createAddressQuota } from './address-quota.ts'

interface Connecting {
  readonly conn: Pick<Duplex, 'destroyed' | 'once'>
}

/** What a client says of itself when it connects: it is kept for as long as the connection lasts. */
export interface ConnectPacket {
  clientId: string
  will?: { topic: string; payload: Uint8Array | string } | undefined
}

/** Limits the bytes that the ids and wills of connected clients take: of one address, and of all together. */
export interface ConnectQuota {
  /** Notes how much this client wants to have kept; `take` counts it. */
  request(client: Connecting, packet: ConnectPacket): void
  /** Counts it until the connection ends. False: its address, or all clients together, have as many as they may. */
  take(client: Connecting): boolean
}

/** `addressOf`: of all clients that count as one. */
export function createConnectQuota(addressOf: (client: Connecting) => string): ConnectQuota {
  const asked = new WeakMap<Connecting, number>()
  const kept = createAddressQuota(connectBytesLimits)
  return {
    request(client, { clientId, will }) {
      asked.set(client, clientId.length + (will === undefined ? 0 : will.topic.length + will.payload.length))
    },
    take(client) {
      const bytes = asked.get(client) ?? 0
      const address = addressOf(client)
      if (kept.refusalOf(address, bytes) !== undefined) return false
      // It may have gone meanwhile.
      if (client.conn.destroyed) return true
      kept.add(address, bytes)
      client.conn.once('close', () => kept.add(address, -bytes))
      return true
    },
  }
}
