import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { host as hostMachine } from '../../../machines/host.ts'
import { pluginLifecycle } from '../../../machines/plugin-lifecycle.ts'
import type { Clock, ScheduledCall } from '../../base/time/clock.ts'
import { every } from '../../base/time/every.ts'
import type { Logger } from '../../base/log/log.ts'
import { Problem, shuttingDown } from '../../base/problem.ts'
import type { LifecycleFacade } from '../../lifecycle/facade.ts'
import type { PluginStateAt } from '../../schema/api/api.ts'
import type { JournalEventView } from '../../schema/journal/journal-event.ts'
import { limitBacklog } from '../streams/backlog.ts'
import {
  actorMessage,
  definitionOf,
  eventMessage,
  eventOf,
  hostSnapshot,
  type InspectionMessage,
  pluginSnapshot,
  snapshotMessage,
  subjectOf,
} from './messages.ts'

/** How many may look at the same time; each costs a message for every fact. */
const inspectorClientsLimit = 16
/** Bytes that may wait for one client before the next fact; who reads more slowly is cut off. */
const clientBufferLimit = 1024 * 1024
/** Bytes that a client may say at a time: what it says is not listened to. */
const messageLimit = 64 * 1024
/** How often a client is asked for a sign of life, in milliseconds. */
const heartbeatInterval = 30_000
/** How long, in milliseconds, a client may take to say goodbye at the end. */
const closingGrace = 500

/** `GET /api/inspect`: shows the machines of the host and of every plugin at work. */
export interface Inspector {
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  /** How many are connected. */
  readonly clients: number
  /** Ends all connections. Idempotent. */
  close(): Promise<void>
}

/** Code of RFC 6455 for who may not go on. */
const policyViolation = 1008

export interface InspectorSettings {
  lifecycle: LifecycleFacade
  /** Whether the login of whoever connected is over. */
  hasEnded(request: IncomingMessage): boolean
  clock: Clock
  logger: Logger
}

interface Client {
  request: IncomingMessage
  socket: WebSocket
  /** Whether so many bytes more may wait for it. */
  mayTake(bytes: number): boolean
  /** Answered the last sign of life that was asked for. */
  alive: boolean
}

export function createInspector(settings: InspectorSettings): Inspector {
  const { lifecycle, hasEnded, clock, logger } = settings
  const definitions = { host: definitionOf(hostMachine), plugin: definitionOf(pluginLifecycle) }
  const clients = new Set<Client>()
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: messageLimit,
  })
  let heartbeat: ScheduledCall | undefined
  let closing: Promise<void> | undefined
  /** Plugins that have been introduced to every client, and the state of the host, while there are clients. */
  const known = new Set<string>()
  let hostState = 'starting'
  const stopListening = lifecycle.subscribe((announcement) => {
    if (announcement.kind !== 'lifecycle') return
    const { event } = announcement
    if (event.plugin === null) hostState = event.state
    if (clients.size > 0) tell(messagesOf(event))
  })

  function messagesOf(fact: JournalEventView): InspectionMessage[] {
    const subject = subjectOf(fact)
    const event = eventOf(fact)
    if (fact.plugin === null) {
      return [eventMessage(fact), snapshotMessage(subject, event, hostSnapshot(fact.state, fact.seq))]
    }
    const plugin = lifecycle.stateAt(fact.seq).plugins.find(({ id }) => id === fact.plugin)
    if (plugin === undefined) return []
    const snapshot = pluginSnapshot(plugin)
    const introduction = known.has(plugin.id) ? [] : [actorMessage(subject, definitions.plugin, snapshot)]
    known.add(plugin.id)
    return [...introduction, eventMessage(fact), snapshotMessage(subject, event, snapshot)]
  }

  /** Everything as it is now. */
  function introduction(): InspectionMessage[] {
    const { seq, plugins } = lifecycle.stateAt(lifecycle.lastSeq)
    const at = clock.now()
    const start = { type: 'xstate.init' }
    const host = hostSnapshot(hostState, seq)
    const subject = (plugin: PluginStateAt | null) => ({ plugin: plugin?.id ?? null, at, seq })
    for (const { id } of plugins) known.add(id)
    return [
      actorMessage(subject(null), definitions.host, host),
      snapshotMessage(subject(null), start, host),
      ...plugins.flatMap((plugin) => [
        actorMessage(subject(plugin), definitions.plugin, pluginSnapshot(plugin)),
        snapshotMessage(subject(plugin), start, pluginSnapshot(plugin)),
      ]),
    ]
  }

  /** However much there is to tell, it is one whole. */
  function tell(messages: readonly InspectionMessage[], to: Iterable<Client> = clients): void {
    const texts = messages.map((message) => JSON.stringify(message))
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
    for (const { socket, mayTake } of to) {
      if (mayTake(bytes)) {
        for (const text of texts) socket.send(text)
        continue
      }
      logger.warn('A client of the inspector reads too slowly and was cut off')
      socket.terminate()
    }
  }

  function accept(socket: WebSocket, request: IncomingMessage): void {
    const mayTake = limitBacklog(clientBufferLimit, () => socket.bufferedAmount)
    const client: Client = { request, socket, mayTake, alive: true }
    clients.add(client)
    socket.on('pong', () => {
      client.alive = true
    })
    socket.on('error', () => socket.terminate())
    socket.on('close', () => {
      clients.delete(client)
      if (clients.size > 0) return
      heartbeat?.cancel()
      heartbeat = undefined
      known.clear()
    })
    heartbeat ??= every(clock, heartbeatInterval, beat)
    tell(introduction(), [client])
  }

  function beat(): void {
    for (const client of clients) {
      if (hasEnded(client.request)) {
        client.socket.close(policyViolation, 'The login has ended')
        continue
      }
      if (!client.alive) client.socket.terminate()
      client.alive = false
      client.socket.ping()
    }
  }

  async function close(): Promise<void> {
    stopListening()
    heartbeat?.cancel()
    const ended = [...clients].map(
      ({ socket }) => new Promise<void>((resolve) => void socket.once('close', () => resolve())),
    )
    for (const { socket } of clients) socket.close(1001, 'The host is shutting down')
    const grace = clock.schedule(closingGrace, () => {
      for (const { socket } of clients) socket.terminate()
    })
    await Promise.all(ended)
    grace.cancel()
    server.close()
  }

  return {
    handleUpgrade(request, socket, head) {
      if (closing !== undefined) throw shuttingDown('connect')
      if (clients.size >= inspectorClientsLimit) {
        throw new Problem(
          'too_many_requests',
          `The inspector has ${inspectorClientsLimit} connections, and takes no more; close another one.`,
        )
      }
      server.handleUpgrade(request, socket, head, accept)
    },
    get clients() {
      return clients.size
    },
    close: () => (closing ??= close()),
  }
}
