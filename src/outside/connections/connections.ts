import { getOrInsert } from '../../base/get-or-insert.ts'
import type { Clock } from '../../base/time/clock.ts'
import type {
  Connection,
  ConnectionListener,
  ConnectionTarget,
  ConnectionTraffic,
  ConnectionView,
} from '../../schema/outside/connection.ts'
import { createConnection, type OwnedConnection } from './connection.ts'
import { type ConnectionAllowance, kindOf } from './kinds.ts'
import type { LinkContext } from './link.ts'

/** All connections of all plugins. */
export interface Connections {
  open(
    plugin: string,
    target: ConnectionTarget,
    listener: ConnectionListener,
    allowed: ConnectionAllowance,
    foreignCaller?: string,
  ): Connection
  /** Those of a plugin, by the order in which they were asked for. */
  of(plugin: string): ConnectionView[]
  /** Ends all of a plugin at once; what has not gone yet is not sent. */
  cut(plugin: string): void
  /** What all of them have carried since the start, by plugin. */
  traffic(): ConnectionTraffic[]
  close(): Promise<void>
}

export interface ConnectionsSettings extends LinkContext {
  clock: Clock
  /** Asked before each write; absent: there is nobody else who could be the plugin. */
  mayAct?: ((plugin: string) => boolean) | undefined
}

export function createConnections({ mayAct, ...context }: ConnectionsSettings): Connections {
  const open = new Map<string, Set<OwnedConnection>>()
  /** Of those that are over. */
  const carried = new Map<string, ConnectionTraffic>()
  let closed = false

  function trafficOf(plugin: string): ConnectionTraffic {
    const total = { plugin, received: 0, sent: 0, ...carried.get(plugin) }
    for (const connection of open.get(plugin) ?? []) {
      const { bytesIn, bytesOut } = connection.view()
      total.received += bytesIn
      total.sent += bytesOut
    }
    return total
  }

  const stopped = (): string | undefined => (closed ? 'the host is being stopped' : undefined)

  return {
    open(plugin, target, listener, allowed, foreignCaller) {
      const mine = getOrInsert(open, plugin, () => new Set())
      const kind = kindOf(plugin, target, context, {
        connect: (host, port, through = foreignCaller) => stopped() ?? allowed.connect(host, port, through),
        serial: (path, through = foreignCaller) => stopped() ?? allowed.serial(path, through),
        discover: (service, through = foreignCaller) => stopped() ?? allowed.discover(service, through),
      })
      const connection = createConnection({
        ...{ clock: context.clock, random: Math.random, kind: target.kind, listener },
        ...kind,
        mayWrite: mayAct && (() => mayAct(plugin)),
        ended() {
          const { bytesIn, bytesOut } = connection.view()
          const before = carried.get(plugin)
          carried.set(plugin, {
            plugin,
            received: (before?.received ?? 0) + bytesIn,
            sent: (before?.sent ?? 0) + bytesOut,
          })
          mine.delete(connection)
          if (mine.size === 0 && open.get(plugin) === mine) open.delete(plugin)
        },
      })
      mine.add(connection)
      return connection
    },
    cut(plugin) {
      for (const connection of [...(open.get(plugin) ?? [])]) connection.destroy()
    },
    of: (plugin) => [...(open.get(plugin) ?? [])].map((connection) => connection.view()),
    traffic: () => [...new Set([...carried.keys(), ...open.keys()])].map(trafficOf),
    async close() {
      closed = true
      for (const connections of [...open.values()])
        for (const connection of [...connections]) connection.destroy()
    },
  }
}
