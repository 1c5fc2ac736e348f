import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { messageOf } from '../../base/problem.ts'
import { bindFailure } from '../network-error.ts'
import { type AddressFamily, type ListNetworks, networksOf } from '../networks.ts'

/** Where those meet who look for each other. */
export interface MulticastPlace {
  groups: Readonly<Record<AddressFamily, string>>
  port: number
  /** Whether answers come to the group, or to whoever has asked. */
  answersTo: 'group' | 'asker'
}

export interface MulticastSockets {
  /** On every network. `done`: why it could not be sent on any of them; undefined: it was sent. */
  send(compose: ComposeMessage, done: (failure: string | undefined) => void): void
  close(): void
}

/** What is said to the group of a family. */
export type ComposeMessage = (family: AddressFamily) => Uint8Array

/** Sends on one network. */
type Sender = (compose: ComposeMessage, done: (error: Error | null) => void) => void

/** Multicast reaches one network alone, so that more than one router is never needed; RFC 6762, section 11. */
const timeToLive = 255

// Where a socket cannot be bound to a group it would take what is meant for others at this machine.
const bindsToGroups = process.platform !== 'win32'
const families: readonly AddressFamily[] = bindsToGroups ? ['IPv4', 'IPv6'] : ['IPv4']

/**
 * Joins the groups on every network of this machine that takes part. A socket is bound to its group, so that it hears what is
 * sent to the group alone, and another program at the same port keeps what is sent to itself. Rejects with an `Error` when
 * no group can be joined anywhere.
 */
export async function openMulticastSockets(
  place: MulticastPlace,
  list: ListNetworks,
  heard: (message: Buffer, from: RemoteInfo) => void,
  failed: (reason: string) => void,
): Promise<MulticastSockets> {
  const { groups, port, answersTo } = place
  const sockets = new Set<Socket>()
  const senders: Sender[] = []
  let failure = 'this machine has no network'

  function close(): void {
    for (const socket of sockets) socket.close()
    sockets.clear()
  }

  /** `address` undefined: any. */
  async function bind(family: AddressFamily, at: { address?: string; port: number }): Promise<Socket> {
    const isIPv4 = family === 'IPv4'
    const socket = createSocket({
      type: isIPv4 ? 'udp4' : 'udp6',
      ipv6Only: !isIPv4,
      reuseAddr: at.port !== 0,
      // There are no names, and between the choice of a network and the sending nothing else may come.
      lookup: ((address: string, _options: unknown, callback: (...found: unknown[]) => void) =>
        callback(null, address, isIPv4 ? 4 : 6)) as never,
    })
    sockets.add(socket)
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject)
      socket.once('listening', resolve)
      socket.bind(at)
    })
    socket.removeAllListeners('error')
    socket.on('error', (error) => failed(messageOf(error)))
    socket.on('message', heard)
    socket.setMulticastTTL(timeToLive)
    return socket
  }

  /** One socket for all networks of IPv4; of IPv6, whose groups belong to a network, one for each. */
  async function join(family: AddressFamily): Promise<void> {
    const group = groups[family]
    const isIPv4 = family === 'IPv4'
    const asker = answersTo === 'asker' ? await bind(family, { port: 0 }) : undefined
    const address = bindsToGroups ? { address: group } : {}
    const shared = isIPv4 ? await bind(family, { ...address, port }) : undefined
    for (const network of networksOf(family, list)) {
      const to = isIPv4 ? group : `${group}%${network}`
      const name = isIPv4 ? network : `::%${network}`
      try {
        const socket = shared ?? (await bind(family, { address: to, port }))
        socket.addMembership(group, name)
        const from = asker ?? socket
        senders.push((compose, done) => {
          from.setMulticastInterface(name)
          from.send(compose(family), port, to, done)
        })
      } catch (error) {
        failure = `${group} cannot be joined on any network: ${bindFailure(error, port)}`
      }
    }
  }

  for (const family of families) {
    try {
      await join(family)
    } catch (error) {
      failure = bindFailure(error, port)
    }
  }
  if (senders.length === 0) {
    close()
    throw new Error(failure)
  }

  return {
    send(compose, done) {
      let left = senders.length
      let sent = false
      const settled = (error: Error | null): void => {
        left -= 1
        if (error === null) sent = true
        if (left === 0) done(sent || error === null ? undefined : messageOf(error))
      }
      for (const send of senders) {
        try {
          send(compose, settled)
        } catch (error) {
          settled(error instanceof Error ? error : new Error(messageOf(error)))
        }
      }
    },
    close,
  }
}
