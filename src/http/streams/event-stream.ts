import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context } from 'koa'
import { getOrInsert } from '../../base/get-or-insert.ts'
import type { Clock, ScheduledCall } from '../../base/time/clock.ts'
import { every } from '../../base/time/every.ts'
import { jsonText } from '../../base/text/json.ts'
import type { Logger } from '../../base/log/log.ts'
import { createWarner } from '../../base/log/warning.ts'
import { shuttingDown } from '../../base/problem.ts'
import type { LifecycleFacade } from '../../lifecycle/facade.ts'
import type { Announcement } from '../../lifecycle/lifecycle.ts'
import { exposedState } from '../../schema/plugin/exposure.ts'
import type { JournalEventView } from '../../schema/journal/journal-event.ts'
import { limitBacklog } from './backlog.ts'
import { createStreamWriter, type StreamWriter } from './stream-writer.ts'
import { createTurnBatch, type TurnBatch } from './turn-batch.ts'

/** How often a line is sent when nothing happens, in milliseconds, so that proxies keep the connection. */
const heartbeatInterval = 15_000
/** How many bytes may wait for one client before the next event; who reads more slowly is cut off and resumes. */
const clientBufferLimit = 1024 * 1024
/** How many missed events are read from the journal at a time. */
const resumePage = 500
/** What a browser waits before it connects again, in milliseconds. */
const retryDelay = 2_000

const beatText = Buffer.from('event: beat\ndata: {}\n\n')
const commentText = Buffer.from(': still here\n\n')

/** `GET /api/events`: what the host announces, as server-sent events. */
export interface EventStream {
  /**
   * Takes the connection over. `after` is the last event that the client has seen. `beats`: a program to which its reader of
   * streams shows no comments hears by an event that the connection is still there.
   */
  open(
    context: Context,
    options: { plugin: string | undefined; after: number | undefined; beats: boolean },
  ): void
  /** How many are connected. */
  readonly clients: number
  /** Ends all streams. Idempotent. */
  close(): void
}

interface Client {
  request: IncomingMessage
  response: ServerResponse
  writer: StreamWriter
  /** Whether so many bytes more may wait for it. */
  mayTake(bytes: number): boolean
  plugin: string | undefined
  beats: boolean
  /** Number of the last lifecycle event that was sent or is not wanted. */
  lastSeq: number
  /** Missed events are still being sent; those that happen now follow from the journal. */
  resuming: boolean
}

/** Who follows the same plugin, or all of them: gets the same in a turn of the event loop, but for lifecycle events. */
interface Group {
  clients: Set<Client>
  batch: TurnBatch
}

export function createEventStream(settings: {
  lifecycle: LifecycleFacade
  /** Whether the login of whoever asked for a stream is over. */
  hasEnded(request: IncomingMessage): boolean
  clock: Clock
  logger: Logger
}): EventStream {
  const { lifecycle, hasEnded, clock, logger } = settings
  const warn = createWarner(logger, clock)
  const clients = new Set<Client>()
  const groups = new Map<string | undefined, Group>()
  let heartbeat: ScheduledCall | undefined
  let closed = false
  const stopListening = lifecycle.subscribe((announcement) => {
    if (announcement.kind === 'lifecycle') tellFact(announcement.event)
    else tell(announcement)
  })

  function tell(announcement: Exclude<Announcement, { kind: 'lifecycle' }>): void {
    // Made when the first wants it, and once for all.
    let bytes: Uint8Array | undefined
    for (const wanted of [undefined, announcement.plugin]) {
      const group = groups.get(wanted)
      if (group === undefined) continue
      bytes ??= Buffer.from(announcementText(announcement))
      group.batch.add(bytes)
    }
  }

  function tellFact(event: JournalEventView): void {
    // Behind what happened before it.
    for (const { batch } of groups.values()) batch.flush()
    let bytes: Uint8Array | undefined
    for (const client of clients) {
      // An event that was read from the journal may be announced once more.
      if (client.resuming || event.seq <= client.lastSeq) continue
      client.lastSeq = event.seq
      if (client.plugin !== undefined && client.plugin !== event.plugin) continue
      bytes ??= Buffer.from(lifecycleText(event))
      write(client, bytes)
    }
  }

  function createGroup(): Group {
    const members = new Set<Client>()
    const batch = createTurnBatch((bytes) => {
      for (const client of members) write(client, bytes)
    })
    return { clients: members, batch }
  }

  function write({ response, writer, mayTake }: Client, bytes: Uint8Array): void {
    if (response.destroyed || response.writableEnded) return
    if (mayTake(bytes.length)) {
      writer.write(bytes)
      return
    }
    warn('A client of the event stream reads too slowly and was cut off')
    response.destroy()
  }

  /** Sends what was missed; ends in the same turn in which nothing more is missing, so that no gap is left. */
  async function resume(client: Client): Promise<void> {
    const { response, writer } = client
    // Nothing more of it is in the heap while the client reads, as events may be of a megabyte, and clients many.
    while (clients.has(client) && !response.destroyed && sendMissed(client)) await writer.drained()
  }

  /** Sends some of what was missed; false when nothing is missing. */
  function sendMissed(client: Client): boolean {
    const { plugin } = client
    const events = lifecycle.history({ plugin, after: client.lastSeq, limit: resumePage })
    client.lastSeq = events.at(-1)?.seq ?? client.lastSeq
    client.resuming = events.length > 0
    if (client.resuming)
      write(client, Buffer.concat(events.map((event) => Buffer.from(lifecycleText(event)))))
    return client.resuming
  }

  function beat(): void {
    for (const client of clients) {
      // Who is back without a login is told so.
      if (hasEnded(client.request)) client.writer.end()
      else write(client, client.beats ? beatText : commentText)
    }
  }

  function remove(client: Client): void {
    clients.delete(client)
    const group = groups.get(client.plugin)
    group?.clients.delete(client)
    if (group?.clients.size === 0) groups.delete(client.plugin)
    if (clients.size > 0) return
    heartbeat?.cancel()
    heartbeat = undefined
  }

  return {
    open(context, { plugin, after, beats }) {
      if (closed) throw shuttingDown('connect')
      const response = context.res
      context.respond = false
      // Whoever has left while the request waited for the start will not be heard to leave.
      if (response.closed) return
      response.writeHead(200, {
        'Content-Type': 'text/event-stream; charset=utf-8',
        'Cache-Control': 'no-store',
        // Some proxies would collect events before they pass them on.
        'X-Accel-Buffering': 'no',
      })
      if (context.method === 'HEAD') {
        response.end()
        return
      }
      const { lastSeq } = lifecycle
      const writer = createStreamWriter(response)
      const client: Client = {
        request: context.req,
        response,
        writer,
        mayTake: limitBacklog(clientBufferLimit, () => writer.waiting),
        plugin,
        beats,
        // A number from the future is of another journal: there is nothing to resume from it.
        lastSeq: Math.min(after ?? lastSeq, lastSeq),
        resuming: after !== undefined,
      }
      clients.add(client)
      const group = getOrInsert(groups, plugin, createGroup)
      // What happened before it came is for the others.
      group.batch.flush()
      group.clients.add(client)
      response.on('close', () => remove(client))
      response.on('error', () => undefined)
      response.socket?.setNoDelay(true)
      heartbeat ??= every(clock, heartbeatInterval, beat)
      // By its number alone a client that breaks off before the first event can say, when it is back, what it has missed.
      const place = client.lastSeq === after ? '' : `id: ${client.lastSeq}\n`
      write(client, Buffer.from(`retry: ${retryDelay}\n${place}\n`))
      if (!client.resuming) return
      resume(client).catch((error: unknown) => {
        logger.error('Missed events could not be read', { error })
        response.destroy()
      })
    },
    get clients() {
      return clients.size
    },
    close() {
      closed = true
      stopListening()
      heartbeat?.cancel()
      for (const { batch } of groups.values()) batch.flush()
      for (const { writer } of clients) writer.end()
    },
  }
}

function lifecycleText(event: JournalEventView): string {
  return `id: ${event.seq}\nevent: lifecycle\ndata: ${jsonText(event)}\n\n`
}

function announcementText(announcement: Exclude<Announcement, { kind: 'lifecycle' }>): string {
  return `event: ${announcement.kind}\ndata: ${jsonText(announcementData(announcement))}\n\n`
}

function announcementData(announcement: Exclude<Announcement, { kind: 'lifecycle' }>): object {
  const { plugin } = announcement
  switch (announcement.kind) {
    case 'log':
      return { plugin, ...announcement.line.value() }
    case 'event': {
      const { name, data, caller } = announcement
      return { plugin, name, data: data.value(), ...(caller === undefined ? {} : { caller }) }
    }
    case 'object': {
      const { path, value } = announcement
      return { plugin, path, value: value?.value() ?? null, removed: value === undefined }
    }
    case 'exposure':
      return { plugin, id: announcement.id, exposure: announcement.exposure ?? null }
    case 'exposed':
      return { plugin, id: announcement.id, state: exposedState(announcement.state) }
    default: {
      const { id, value, removed } = announcement
      return { plugin, id, value: value?.value() ?? null, removed }
    }
  }
}
