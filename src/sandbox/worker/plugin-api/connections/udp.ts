import type { UdpTarget } from '../../../../schema/outside/connection.ts'
import { datagramLimit, groupLimit } from '../../../../schema/outside/connection-limits.ts'
import { peerName, peerOf } from '../../../../schema/outside/peer.ts'
import type { LuaTable } from '../../lua/lua-value.ts'
import type { Steps } from '../../lua/steps.ts'
import type { ForeignCaller } from '../../limits/foreign-callers.ts'
import type { PluginContext } from '../../plugin-context.ts'
import {
  isTruthy,
  listOf,
  numberArgument,
  optionalText,
  tableArgument,
  textArgument,
  typeName,
} from '../../lua/arguments.ts'
import { toBytes } from '../../lua/text/bytes.ts'
import { type ConnectionObject, refused } from './connection-object.ts'
import type { ConnectionObjects } from './connection-objects.ts'
import { payloadOf, readHost, readPort, readReconnect } from './options.ts'

/** Peers of which is remembered whether the plugin may send to them. */
const peersKnown = 1_000

/** `plugin:udpSocket` (plugin API, section 15). */
export function installUdp(context: PluginContext, connections: ConnectionObjects): void {
  const known = new Map<string, string | undefined>()

  /** Why nothing may be sent there; the host asks itself the same. */
  function* refusalOf(
    peer: string,
    host: string,
    port: number,
    foreignCaller: ForeignCaller,
  ): Steps<string | undefined> {
    const key = `${foreignCaller ?? ''} ${peer}`
    if (known.has(key)) return known.get(key)
    const caller = foreignCaller === undefined ? {} : { foreignCaller }
    const refusal = yield* context.ask({ kind: 'refuseConnection', host, port, ...caller })
    if (known.size >= peersKnown) known.clear()
    known.set(key, refusal)
    return refusal
  }

  context.addCallerAwareMethod('udpSocket', (foreignCaller, given) => {
    const options = given === undefined ? context.runtime.newTable() : tableArgument('udpSocket', 1, given)
    let port: number | undefined
    const socket: ConnectionObject = connections.open({
      method: 'udpSocket',
      resource: 'sockets',
      foreignCaller,
      // There is nobody to wait for, so whoever has a socket may send.
      early: true,
      target: () => readTarget(options),
      opened: (event) => {
        port = event.port
      },
      closed(reason) {
        port = undefined
        socket.tell('onClose', reason)
      },
      message(payload, _isText, from) {
        const peer = peerOf(from)
        if (peer !== undefined) socket.tell('onMessage', payload, toBytes(peer.host), peer.port)
      },
    })
    for (const handler of ['onMessage', 'onClose']) socket.addHandler(handler)
    socket.addMethod('port', () => [socket.isOpen ? port : undefined])
    socket.addMethod('send', function* (caller, host, to, data) {
      const peer = {
        host: readHost(textArgument('send', 1, host)),
        port: readPort(numberArgument('send', 2, to)),
      }
      const payload = payloadOf(context, 'send', data)
      if (payload.byteLength > datagramLimit)
        return refused(`a datagram has ${datagramLimit} bytes at most, not ${payload.byteLength}`)
      const name = peerName(peer)
      const refusal = yield* refusalOf(name, peer.host, peer.port, caller)
      return refusal === undefined ? socket.send('data', payload, caller, name) : refused(refusal)
    })
    return socket.table
  })
}

function readTarget(options: LuaTable): UdpTarget {
  const port = options.get('port')
  const given = options.get('multicast')
  const groups = given === undefined ? [] : listOf(given)
  if (groups.length > groupLimit) throw new Error(`there are more than ${groupLimit} multicast groups`)
  return {
    kind: 'udp',
    ...(port === undefined ? {} : { port: readPort(numberArgument('udpSocket', 1, port)) }),
    groups: groups.map((group) => {
      const text = optionalText(group)
      if (text === undefined)
        throw new Error(`multicast must be an address, or a list of them, not a ${typeName(group)}`)
      return readHost(text)
    }),
    broadcast: isTruthy(options.get('broadcast')),
    ...readReconnect(options.get('reconnect')),
  }
}
