import type { Clock } from '../../base/clock.ts'
import type {
  Connection,
  ConnectionListener,
  ConnectionTarget,
  ConnectionView,
} from '../../schema/connection.ts'
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
  close(): Promise<void>
}

export interface ConnectionsSettings extends LinkContext {
  clock: Clock
  random?: () => number
}

export type { ConnectionAllowance }

export function createConnections({ random = Math.random, ...context }: ConnectionsSettings): Connections {
  const open = new Map<string, Set<OwnedConnection>>()
  let closed = false
  const stopped = (): string | undefined => (closed ? 'the host is being stopped' : undefined)

  return {
    open(plugin, target, listener, allowed, foreignCaller) {
      const mine = open.get(plugin) ?? new Set()
      open.set(plugin, mine)
      const kind = kindOf(plugin, target, context, {
        connect: (host, port, through = foreignCaller) => stopped() ?? allowed.connect(host, port, through),
        serial: (path, through = foreignCaller) => stopped() ?? allowed.serial(path, through),
      })
      const connection = createConnection({
        ...{ clock: context.clock, random, kind: target.kind, listener },
        ...kind,
        ended() {
          mine.delete(connection)
          if (mine.size === 0 && open.get(plugin) === mine) open.delete(plugin)
        },
      })
      mine.add(connection)
      return connection
    },
    of: (plugin) => [...(open.get(plugin) ?? [])].map((connection) => connection.view()),
    async close() {
      closed = true
      for (const connections of [...open.values()])
        for (const connection of [...connections]) connection.destroy()
    },
  }
}
