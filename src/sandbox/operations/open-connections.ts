import {
  type Connection,
  type ConnectionKind,
  type ConnectionListener,
  type ConnectionTarget,
  messageOverhead,
  peerName,
  receivedWindow,
} from '../../schema/outside/connection.ts'
import type { Frame } from '../../schema/worker/message-frames.ts'
import type { LimitName, PluginLimits } from '../../schema/plugin/plugin-limits.ts'
import type { Deliveries } from '../flow/deliveries.ts'
import type { IsolateServices } from '../isolate.ts'

/** The connections of one isolate, as the host sees them. */
export interface OpenConnections {
  open(number: number, target: ConnectionTarget, foreignCaller?: string): void
  /** What the plugin sends. */
  write(frame: Frame & { kind: 'data' | 'text' }): void
  find(number: number): Connection | undefined
  /** The plugin has taken so many bytes. */
  taken(number: number, bytes: number): void
  close(number: number): void
  /** Closes what is open; resolves when what was written has gone, within seconds in any case. */
  finish(): Promise<void>
  /** Ends all of it at once. */
  abort(): void
}

export interface OpenConnectionsSettings {
  limits: PluginLimits
  services: Pick<IsolateServices, 'connect'>
  deliver: Deliveries['connection']
  /** Does it in the plugin's next turn. */
  later(task: () => void): void
  /** A line in the plugin's log. */
  warn(message: string): void
}

/** Which limit counts a connection. */
const limitOf: Readonly<Record<ConnectionKind, LimitName>> = {
  webSocket: 'sockets',
  httpStream: 'sockets',
  tcp: 'sockets',
  udp: 'sockets',
  serial: 'serialPorts',
  discovery: 'discoveries',
  ssdp: 'discoveries',
}

interface Open {
  connection: Connection
  /** Bytes on their way to the plugin. */
  outstanding: number
  paused: boolean
}

export function createOpenConnections(settings: OpenConnectionsSettings): OpenConnections {
  const { limits, services, deliver, later, warn } = settings
  const open = new Map<number, Open>()
  const closing = new Set<{ connection: Connection; done: Promise<void> }>()

  /** Those that are being closed count, too; a worker knows nothing of them, so that it has as many more. */
  function hasRoom(kind: ConnectionKind): boolean {
    const limit = limitOf[kind]
    const room = 2 * limits[limit] + 1
    if (open.size + closing.size < room) return true
    const all = [...open.values(), ...closing].filter(({ connection }) => limitOf[connection.kind] === limit)
    return all.length < room
  }

  function said(number: number, event: Parameters<ConnectionListener['event']>[0]): void {
    deliver('connection', number, '', JSON.stringify(event))
  }

  function listenerFor(number: number): ConnectionListener {
    return {
      event(event) {
        if (!open.has(number)) return
        if (event.event === 'closed' && event.final) open.delete(number)
        said(number, event)
      },
      message(payload, { text, peer }) {
        const found = open.get(number)
        if (found === undefined) return
        deliver(text ? 'text' : 'data', number, peer === undefined ? '' : peerName(peer), payload)
        found.outstanding += payload.byteLength + messageOverhead
        if (found.paused || found.outstanding <= receivedWindow) return
        found.paused = true
        found.connection.pause()
      },
      warn,
      later,
    }
  }

  function close(number: number): void {
    const found = open.get(number)
    if (found === undefined) return
    open.delete(number)
    const { connection } = found
    const entry = { connection, done: connection.close().finally(() => closing.delete(entry)) }
    closing.add(entry)
  }

  return {
    open(number, target, foreignCaller) {
      if (open.has(number)) return
      if (!hasRoom(target.kind)) {
        const reason = 'too many connections: wait until those that were closed have ended'
        said(number, { event: 'closed', reason, final: true })
        return
      }
      const connection = services.connect(target, listenerFor(number), foreignCaller)
      open.set(number, { connection, outstanding: 0, paused: false })
    },
    write({ kind, subscription, name, payload, foreignCaller }) {
      open.get(subscription)?.connection.write(name, payload, kind === 'text', foreignCaller)
    },
    find: (number) => open.get(number)?.connection,
    taken(number, bytes) {
      const found = open.get(number)
      if (found === undefined) return
      found.outstanding = Math.max(0, found.outstanding - bytes)
      if (!found.paused || found.outstanding > receivedWindow / 2) return
      found.paused = false
      found.connection.resume()
    },
    close,
    async finish() {
      for (const number of [...open.keys()]) close(number)
      await Promise.all([...closing].map(({ done }) => done))
    },
    abort() {
      for (const { connection } of [...open.values(), ...closing]) connection.destroy()
      open.clear()
    },
  }
}
