import { createSocket, type Socket } from 'node:dgram'
import { isIPv4, isIPv6, type LookupFunction } from 'node:net'
import { messageOf, systemErrorCode } from '../../base/problem.ts'
import type { ScheduledCall } from '../../base/time/clock.ts'
import type { UdpTarget } from '../../schema/outside/connection.ts'
import { bindFailure, networkFailure } from '../network-error.ts'
import { networksOf } from '../networks.ts'
import type { Link, LinkContext, LinkEnd, LinkEvents } from './link.ts'

/** Different failures to send of which the plugin's log is told. */
const failuresTold = 20
/** Milliseconds from one line about datagrams that were dropped to the next: who floods a port is not to fill the log. */
const tellAgain = 60_000
/** Milliseconds until the groups are joined on networks that have come meanwhile. */
const joinAgain = 10_000

const isMulticast = (address: string): boolean =>
  isIPv6(address) ? /^ff/i.test(address) : isIPv4(address) && /^2(2[4-9]|3\d)\./.test(address)

/** What is wrong with groups that no socket can ever join, in a sentence. */
export function groupsFault(groups: readonly string[]): string | undefined {
  const wrong = groups.find((group) => !isMulticast(group))
  return wrong === undefined
    ? undefined
    : `${wrong} is no multicast group; those are addresses from 224.0.0.0 to 239.255.255.255, or that begin with ff`
}

/**
 * A UDP socket: of IPv4, or of IPv6 when one of its groups is, which on Linux hears groups of IPv4, too. Datagrams that nobody takes
 * are lost, and counted.
 */
export function openUdp(
  target: UdpTarget,
  events: LinkEvents,
  { clock, own }: Pick<LinkContext, 'clock' | 'own'>,
): Link {
  const { port, groups, broadcast } = target
  const socket = createSocket({
    type: kindOf(groups),
    // Those who hear the same group share its port.
    reuseAddr: groups.length > 0,
    // Names as all other sockets have them. Node gives the family in place of options, which its types do not know.
    lookup: ((name: string, family: number, callback: Parameters<LookupFunction>[2]) =>
      own.anyLookup(name, { family }, callback)) as never,
  })
  const told = new Set<string>()
  let silent = false
  let paused = false
  let dropped = 0
  /** Datagrams that the system has not taken yet. */
  let sending = 0
  let closing = false
  let closed = false
  let joining: ScheduledCall | undefined
  let telling: ScheduledCall | undefined

  function destroy(): void {
    if (closed) return
    closed = true
    silent = true
    joining?.cancel()
    telling?.cancel()
    socket.close()
  }

  function fail(end: LinkEnd): void {
    if (silent) return
    destroy()
    events.ended(end)
  }

  function tellOf(message: string): void {
    if (silent || told.size >= failuresTold || told.has(message)) return
    told.add(message)
    events.warn(message)
  }

  function tellOfDropped(): void {
    telling = undefined
    if (dropped === 0) return
    events.warn(`${dropped} datagrams were dropped: the plugin takes them more slowly than they come`)
    dropped = 0
    telling = clock.schedule(tellAgain, tellOfDropped)
  }

  socket.on('error', (error) => fail({ reason: bindFailure(error, port) }))
  socket.on('message', (data, { address, port: from }) => {
    if (silent) return
    if (paused) dropped += 1
    else events.message(data, { text: false, peer: { host: address, port: from } })
  })
  /** A host may start before its networks, and one that goes takes what was joined on it along, also when it comes back. */
  function stayJoined(): void {
    joining = clock.schedule(joinAgain, () => {
      for (const group of groups) {
        try {
          join(socket, group)
        } catch {
          // No network is left: perhaps the next time.
        }
      }
      stayJoined()
    })
  }

  socket.bind(port === undefined ? {} : { port }, () => {
    try {
      if (broadcast) socket.setBroadcast(true)
      for (const group of groups) join(socket, group)
      if (groups.length > 0) stayJoined()
    } catch (error) {
      fail({ reason: `cannot join ${groups.join(', ')}: ${messageOf(error)}` })
      return
    }
    events.opened({ port: socket.address().port })
  })

  return {
    write(payload, { peer }, written) {
      if (peer === undefined || closed) return
      sending += 1
      socket.send(payload, peer.port, peer.host, (error) => {
        sending -= 1
        if (error !== null)
          tellOf(`a datagram was not sent to ${peer.host}: ${sendFailure(error, peer.host, target)}`)
        written()
        if (closing && sending === 0) fail({ reason: null })
      })
    },
    pause() {
      paused = true
    },
    resume() {
      paused = false
      if (telling === undefined) tellOfDropped()
    },
    close() {
      closing = true
      if (sending === 0) fail({ reason: null })
    },
    destroy,
  }
}

function sendFailure(error: Error, host: string, { groups, broadcast }: UdpTarget): string {
  const code = systemErrorCode(error) ?? ''
  if (code === 'EACCES' && !broadcast)
    return 'it is a broadcast address, for which the socket needs broadcast = true (EACCES)'
  // Of an address of the other family the system says no more than that it is an invalid argument.
  if (isIPv6(host) && kindOf(groups) === 'udp4')
    return `it is an address of IPv6, and the socket is of IPv4, as none of its groups is of IPv6 (${code})`
  if (isIPv4(host) && kindOf(groups) === 'udp6')
    return `it is an address of IPv4, and the socket is of IPv6, as one of its groups is (${code})`
  return networkFailure(error, host).message
}

const kindOf = (groups: readonly string[]): 'udp4' | 'udp6' =>
  groups.some((group) => isIPv6(group)) ? 'udp6' : 'udp4'

/**
 * On each network of this machine, loopback included: whoever speaks to the group may be on any of them. What is joined already
 * stays so.
 */
function join(socket: Socket, group: string): void {
  const networks = isIPv6(group) ? networksOf('IPv6').map((name) => `::%${name}`) : networksOf('IPv4')
  let joined = 0
  let failure: unknown = new Error('there is no network')
  for (const network of networks) {
    try {
      socket.addMembership(group, network)
      joined += 1
    } catch (error) {
      if (systemErrorCode(error) === 'EADDRINUSE') joined += 1
      else failure = error
    }
  }
  if (joined === 0) throw failure
}
