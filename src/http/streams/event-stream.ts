import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context } from 'koa'
import type { Clock, ScheduledCall } from '../../base/time/clock.ts'
import { every } from '../../base/time/every.ts'
import { jsonText } from '../../base/text/json.ts'
import type { Logger } from '../../base/log/log.ts'
import { Problem } from '../../base/problem.ts'
import type { LifecycleFacade } from '../../lifecycle/facade.ts'
import type { Announcement } from '../../lifecycle/lifecycle.ts'
import { exposedState } from '../../schema/plugin/exposure.ts'
import type { JournalEventView } from '../../schema/journal/journal-event.ts'
import { limitBacklog } from './backlog.ts'

/** How often a line is sent when nothing happens, in milliseconds, so that proxies keep the connection. */
const heartbeatInterval = 15_000
/** How many bytes may wait for one client before the next event; who reads more slowly is cut off and resumes. */
const clientBufferLimit = 1024 * 1024
/** How many missed events are read from the journal at a time. */
const resumePage = 500
/** What a browser waits before it connects again, in milliseconds. */
const retryDelay = 2_000

const beatText = 'event: beat\ndata: {}\n\n'

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
  /** Whether so many bytes more may wait for it. */
  mayTake(bytes: number): boolean
  plugin: string | undefined
  beats: boolean
  /** Number of the last lifecycle event that was sent or is not wanted. */
  lastSeq: number
  /** Missed events are still being sent; those that happen now follow from the journal. */
  resuming: boolean
}

export function createEventStream(settings: {
  lifecycle: LifecycleFacade
  /** Whether the login of whoever asked for a stream is over. */
  hasEnded(request: IncomingMessage): boolean
  clock: Clock
  logger: Logger
}): EventStream {
  const { lifecycle, hasEnded, clock, logger } = settings
  const clients = new Set<Client>()
  let heartbeat: ScheduledCall | undefined
  let closed = false
  const stopListening = lifecycle.subscribe((announcement) => {
    // Made when the first wants it, and once for all.
    let bytes: Uint8Array | undefined
    for (const client of clients) {
      if (!wants(client, announcement)) continue
      bytes ??= Buffer.from(announcementText(announcement))
      write(client, bytes)
    }
  })

  /** Whether it is to get this now; that one has had a lifecycle event is noted. */
  function wants(client: Client, announcement: Announcement): boolean {
    if (announcement.kind !== 'lifecycle')
      return client.plugin === undefined || client.plugin === announcement.plugin
    const { seq, plugin } = announcement.event
    // An event that was read from the journal may be announced once more.
    if (client.resuming || seq <= client.lastSeq) return false
    client.lastSeq = seq
    return client.plugin === undefined || client.plugin === plugin
  }

  /** False when the client should get a moment to read. */
  function write(client: Client, text: string | Uint8Array): boolean {
    const { response } = client
    if (response.destroyed || response.writableEnded) return false
    if (client.mayTake(Buffer.byteLength(text))) return response.write(text)
    logger.warn('A client of the event stream reads too slowly and was cut off')
    response.destroy()
    return false
  }

  /** Sends what was missed; ends in the same turn in which nothing more is missing, so that no gap is left. */
  async function resume(client: Client): Promise<void> {
    const { response } = client
    while (clients.has(client) && client.resuming && !response.destroyed) {
      if (!sendMissed(client)) await drained(response)
    }
  }

  /**
   * Sends some of what was missed. False when the client should get a moment to read: nothing of it is in the heap meanwhile,
   * as events may be of a megabyte, and clients many.
   */
  function sendMissed(client: Client): boolean {
    const { plugin } = client
    const events = lifecycle.history({ plugin, after: client.lastSeq, limit: resumePage })
    client.lastSeq = events.at(-1)?.seq ?? client.lastSeq
    client.resuming = events.length > 0
    return (
      !client.resuming ||
      write(client, Buffer.concat(events.map((event) => Buffer.from(lifecycleText(event)))))
    )
  }

  function beat(): void {
    for (const client of clients) {
      // Who is back without a login is told so.
      if (hasEnded(client.request)) client.response.end()
      else write(client, client.beats ? beatText : ': still here\n\n')
    }
  }

  function remove(client: Client): void {
    clients.delete(client)
    if (clients.size > 0) return
    heartbeat?.cancel()
    heartbeat = undefined
  }

  return {
    open(context, { plugin, after, beats }) {
      if (closed)
        throw new Problem('shutting_down', 'The host is shutting down; connect again when it is back.')
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
      const client: Client = {
        request: context.req,
        response,
        mayTake: limitBacklog(clientBufferLimit, () => response.writableLength),
        plugin,
        beats,
        // A number from the future is of another journal: there is nothing to resume from it.
        lastSeq: Math.min(after ?? lastSeq, lastSeq),
        resuming: after !== undefined,
      }
      clients.add(client)
      response.on('close', () => remove(client))
      response.on('error', () => undefined)
      response.socket?.setNoDelay(true)
      heartbeat ??= every(clock, heartbeatInterval, beat)
      // By its number alone a client that breaks off before the first event can say, when it is back, what it has missed.
      const place = client.lastSeq === after ? '' : `id: ${client.lastSeq}\n`
      write(client, `retry: ${retryDelay}\n${place}\n`)
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
      for (const { response } of clients) response.end()
    },
  }
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    if (response.destroyed) {
      resolve()
      return
    }
    const done = (): void => {
      response.off('drain', done).off('close', done)
      resolve()
    }
    response.on('drain', done).on('close', done)
  })
}

function lifecycleText(event: JournalEventView): string {
  return `id: ${event.seq}\nevent: lifecycle\ndata: ${jsonText(event)}\n\n`
}

function announcementText(announcement: Announcement): string {
  if (announcement.kind === 'lifecycle') return lifecycleText(announcement.event)
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
