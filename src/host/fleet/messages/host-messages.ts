import { randomUUID } from 'node:crypto'
import { every } from '../../../base/time/every.ts'
import { createWarner } from '../../../base/log/warning.ts'
import { messageOf } from '../../../base/problem.ts'
import { hasWildcard } from '../../../base/text/part-pattern.ts'
import { createPartPatterns } from '../../../base/text/part-patterns.ts'
import { type SerializedJson, serializedJson } from '../../../base/text/serialized-json.ts'
import type { Announcement } from '../../../lifecycle/lifecycle.ts'
import type { EventHub } from '../../../lifecycle/running/event-hub.ts'
import type { HostCallsSettings } from './host-calls.ts'
import { createPieces, pieceBytes } from './pieces.ts'

/**
 * What hosts of a fleet tell each other at once, and nobody keeps: events for listeners of another host, and announcements for
 * those who watch there. Nothing is sent that nobody wants: each host says, again and again, what it wants.
 */
export interface HostMessages {
  /** Announcements of this host; `wanted` by others they are sent. */
  tell(announcement: Announcement): void
  close(): void
}

export interface HostMessagesSettings extends Omit<HostCallsSettings, 'ring' | 'answer'> {
  events: EventHub
  /** Whether somebody here watches the announcements of all hosts. */
  watches: () => boolean
  /** Takes an announcement of another host. */
  take(announcement: Announcement): void
  /** Nothing is sent once the session is over. */
  maySpeak: () => boolean
}

/** Milliseconds between two times that a host says what it wants, and for which that holds. */
const tellEvery = 1_000
const holdsFor = 3_500

interface Wish {
  names: readonly string[]
  watches: boolean
}

/** Of something that is too long for one message. */
interface Piece {
  of: string
  index: number
  count: number
}

interface Known extends Wish {
  at: number
  matches: (name: string) => boolean
}

export function createHostMessages(settings: HostMessagesSettings): HostMessages {
  const { connection, fleet, host, clock, logger, events, watches, take, maySpeak } = settings
  const warn = createWarner(logger, clock)
  const subject = (kind: string): string => `lupine.${fleet}.messages.${kind}`
  const others = new Map<string, Known>()
  const pieces = createPieces<Uint8Array>(clock)
  let said = ''
  let isClosed = false

  const listen = (kind: string, handle: (data: Uint8Array) => void) =>
    connection.subscribe(subject(kind), {
      callback(error, message) {
        if (error !== null) return
        try {
          handle(message.data)
        } catch (failure) {
          // The client would give the connection up for it.
          warn('A message between hosts of the fleet was not understood', { error: messageOf(failure) })
        }
      },
    })
  const subscriptions = [listen('wishes', hear), listen('events', carry), listen('announcements', watch)]

  function hear(data: Uint8Array): void {
    const { from, names = [], watches: isWatching = false } = received<Wish>(data).head
    if (from === undefined || from === host) return
    const isNew = !others.has(from)
    others.set(from, { names, watches: isWatching, at: clock.monotonic(), matches: matcherOf(names) })
    if (isNew) tellWishes(true)
  }

  function matcherOf(names: readonly string[]): (name: string) => boolean {
    const plain = new Set(names)
    const patterns = createPartPatterns(':')
    for (const name of names) if (hasWildcard(name, ':')) patterns.add(name)
    return (name) => plain.has(name) || patterns.matches(name)
  }

  function carry(data: Uint8Array): void {
    const { head, body } = received<{ plugin: string; name: string }>(data)
    const { from, plugin, name } = head
    if (from === host || plugin === undefined || name === undefined) return
    events.emit(name, serializedJson(body), plugin)
  }

  function watch(data: Uint8Array): void {
    if (!watches()) return
    const { head, body } = received<{ announcement: Announcement }>(data)
    const { from, announcement } = head
    if (from === host || announcement === undefined) return
    take(withBody(announcement, body.length === 0 ? undefined : serializedJson(body)))
  }

  /** What was said, once all of it is there: until then it says nothing. */
  function received<T>(data: Uint8Array): { head: Partial<T & { from: string }>; body: Uint8Array } {
    const { head, body } = split(data)
    const known = parsed<T & { from: string; piece: Piece }>(head)
    const { from, piece } = known
    if (piece === undefined || from === host) return { head: known, body }
    const all = pieces.add(piece.of, piece.index, piece.count, body)
    return all === undefined ? { head: {}, body: nothing } : received(Buffer.concat(all))
  }

  /** Without a wish nothing is said, but that there is none any more. */
  function tellWishes(again: boolean): void {
    const wish: Wish = { names: events.names(), watches: watches() }
    const text = JSON.stringify({ from: host, ...wish })
    const isEmpty = wish.names.length === 0 && !wish.watches
    if ((isEmpty || !again) && text === said) return
    said = text
    sendWhole('wishes', Buffer.from(text))
  }

  function tick(): void {
    const now = clock.monotonic()
    for (const [other, { at, names, watches: isWatching }] of others)
      if (now - at > holdsFor && (names.length > 0 || isWatching)) others.delete(other)
    tellWishes(true)
  }
  tick()
  const timer = every(clock, tellEvery, tick)
  let isDue = false
  events.onNames(() => {
    if (isDue) return
    isDue = true
    // A plugin listens to several at once.
    setImmediate(() => {
      isDue = false
      if (!isClosed) tellWishes(false)
    })
  })

  function send(kind: string, head: object, body: SerializedJson<unknown> | undefined): void {
    sendWhole(kind, message(head, body?.bytes))
  }

  /** A plugin may say as much in one event as a server takes in one message, and that is without who says it. */
  function sendWhole(kind: string, whole: Buffer): void {
    const size = pieceBytes(connection)
    if (whole.length <= size) {
      connection.publish(subject(kind), whole)
      return
    }
    const count = Math.ceil(whole.length / size)
    const of = randomUUID()
    for (let index = 0; index < count; index += 1) {
      const part = whole.subarray(index * size, (index + 1) * size)
      connection.publish(subject(kind), message({ piece: { of, index, count } }, part))
    }
  }

  function message(head: object, body: Uint8Array = nothing): Buffer {
    return Buffer.concat([Buffer.from(JSON.stringify({ from: host, ...head })), newline, body])
  }

  return {
    tell(announcement) {
      // The journal brings these to each host.
      if (announcement.kind === 'lifecycle' || others.size === 0) return
      const wishes = [...others.values()]
      if (announcement.kind === 'event') {
        const { plugin, name, data } = announcement
        if (wishes.some(({ matches }) => matches(name)) && maySpeak()) send('events', { plugin, name }, data)
      }
      if (wishes.some(({ watches: isWatching }) => isWatching) && maySpeak()) {
        const { head, body } = withoutBody(announcement)
        send('announcements', { announcement: head }, body)
      }
    },
    close() {
      isClosed = true
      timer.cancel()
      for (const subscription of subscriptions) subscription.unsubscribe()
      pieces.clear()
    },
  }
}

const newline = Buffer.from('\n')
const nothing = Buffer.alloc(0)
/** Members of announcements that are JSON already. */
const bodies = ['line', 'data', 'value', 'state'] as const

function withoutBody(announcement: Announcement): {
  head: object
  body: SerializedJson<unknown> | undefined
} {
  const given = announcement as unknown as Record<string, unknown>
  const name = bodies.find((member) => typeof given[member] === 'object')
  if (name === undefined) return { head: announcement, body: undefined }
  return { head: { ...given, [name]: undefined, body: name }, body: given[name] as SerializedJson<unknown> }
}

function withBody(head: Announcement & { body?: string }, body: SerializedJson | undefined): Announcement {
  const { body: name, ...rest } = head
  return name === undefined ? rest : { ...rest, [name]: body }
}

function split(data: Uint8Array): { head: Uint8Array; body: Uint8Array } {
  const end = data.indexOf(10)
  return end === -1
    ? { head: data, body: nothing }
    : { head: data.subarray(0, end), body: data.subarray(end + 1) }
}

/** What another host says; anything else counts for nothing. */
function parsed<T>(data: Uint8Array): Partial<T> {
  try {
    const value: unknown = JSON.parse(Buffer.from(data).toString())
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}
