import { isSystemFault } from '../../base/files/system-fault.ts'
import { type BackOff, backOffDelay } from '../../base/time/back-off.ts'
import type { Clock, ScheduledCall } from '../../base/time/clock.ts'
import { createStartTime } from '../../base/time/start-time.ts'
import { messageOf } from '../../base/problem.ts'
import {
  type Connection,
  type ConnectionKind,
  type ConnectionListener,
  type ConnectionMessage,
  type ConnectionView,
  type OverlongPart,
  connectionMessageLimit,
  messageOverhead,
  unsentLimit,
  writtenReportBytes,
} from '../../schema/outside/connection.ts'
import { isUndecided } from '../own-listeners.ts'
import { closingTime, type Link, type LinkEnd, type LinkEvents } from './link.ts'

const articles: Readonly<Record<OverlongPart, string>> = { frame: 'a', line: 'a', event: 'an' }
/** Milliseconds that a connection has to last before the next loss counts as a first one. */
const steadyAfter = 10_000

export interface ConnectionSettings {
  clock: Clock
  /** 0 up to 1. */
  random(): number
  kind: ConnectionKind
  /** Where it leads, for people. */
  shownTarget: string
  reconnect: BackOff | undefined
  /** Why the plugin may not have it, in a sentence; undefined: it may. */
  refusal: string | undefined
  /**
   * Makes one attempt; what is needed for it may have to be loaded first. Else it is made on the spot, in the turn of its
   * plugin.
   */
  open(events: LinkEvents): (() => Link) | Promise<() => Link>
  /** Whom what is sent is for, read off the name of a frame; undefined: it is for a session that is over. */
  addressed(
    name: string,
    session: number,
    foreignCaller: string | undefined,
  ): { peer?: ConnectionMessage['peer'] } | undefined
  listener: ConnectionListener
  /** A stream goes on where the last one has ended: no attempt is made before that is known. */
  goOnFrom?(lastEventId: string): void
  /** Asked before each write; false: another host has the plugin, so it is cut. Absent: always. */
  mayWrite?: (() => boolean) | undefined
  /** It is over, and nothing is left of it. */
  ended(): void
}

export interface OwnedConnection extends Connection {
  view(): ConnectionView
}

/** Keeps a connection up: connects, connects again after a loss, and counts. */
export function createConnection(settings: ConnectionSettings): OwnedConnection {
  const { clock, kind, listener, reconnect } = settings
  const startNow = (): (() => number) => createStartTime(clock, clock.monotonic)
  let state: ConnectionView['state'] = 'connecting'
  let since = startNow()
  let lastError: string | null = null
  let bytesIn = 0
  let bytesOut = 0
  let session = 0
  /** Losses since it was steady. */
  let losses = 0
  let openedAt = 0
  /** Lost, and not to be tried again before it is known how: milliseconds since when, and from one attempt to the next. */
  let waiting: { since: number; delay: number } | undefined
  let link: Link | undefined
  let timer: ScheduledCall | undefined
  let paused = false
  let over = false
  /** Counted with the overhead, as the worker does. */
  let unsent = 0
  let unsaid = 0
  let closed: Promise<void> | undefined
  let settleClosed = (): void => undefined
  /** What an earlier attempt says is of no interest. */
  let attempt = 0

  function become(next: ConnectionView['state']): void {
    state = next
    since = startNow()
  }

  /** Nothing is heard of it any more. */
  function finish(): void {
    if (over) return
    over = true
    waiting = undefined
    timer?.cancel()
    link?.destroy()
    link = undefined
    settings.ended()
    settleClosed()
  }

  function lost({ reason, code, refused }: LinkEnd): void {
    link = undefined
    unsent = 0
    unsaid = 0
    if (state === 'closing') {
      finish()
      return
    }
    if (state === 'open' && clock.monotonic() - openedAt >= steadyAfter) losses = 0
    lastError = reason
    const again = refused === true ? undefined : reconnect
    const more = code === undefined ? {} : { code }
    listener.event({ event: 'closed', reason, ...more, final: again === undefined })
    if (again === undefined) {
      finish()
      return
    }
    become('waiting')
    waiting = { since: clock.monotonic(), delay: backOffDelay(again, losses, settings.random()) }
    losses += 1
    if (settings.goOnFrom === undefined) connectAfter(0)
  }

  /** The next attempt, so many milliseconds after the loss at the soonest. */
  function connectAfter(wait: number): void {
    if (waiting === undefined || reconnect === undefined) return
    const { since: lostAt, delay } = waiting
    waiting = undefined
    const passed = clock.monotonic() - lostAt
    timer = clock.schedule(Math.max(0, delay - passed, Math.min(wait, reconnect.max) - passed), () =>
      // As many as the plugin has may be due at once.
      listener.later(() => {
        if (!over) connect()
      }),
    )
  }

  function eventsOf(mine: number): LinkEvents {
    const current = (): boolean => !over && mine === attempt
    return {
      opened(details) {
        if (!current() || state !== 'connecting') return
        session += 1
        openedAt = clock.monotonic()
        become('open')
        if (paused) link?.pause()
        listener.event({ event: 'opened', session, ...details })
      },
      message(payload, message) {
        if (!current() || state === 'closing') return
        bytesIn += payload.byteLength
        listener.message(payload, message)
      },
      silence() {
        if (current() && state === 'open') listener.event({ event: 'silence' })
      },
      ended(end) {
        if (!current()) return
        attempt += 1
        lost(end)
      },
      warn(message) {
        if (current()) listener.warn(message)
      },
    }
  }

  function connect(): void {
    become('connecting')
    attempt += 1
    const mine = attempt
    const events = eventsOf(mine)
    const take = (make: () => Link): void => {
      if (!over && mine === attempt) link = make()
    }
    const fail = (error: unknown): void =>
      events.ended({ reason: messageOf(error), refused: !isUndecided(error) && !isSystemFault(error) })
    const opening = settings.open(events)
    if (opening instanceof Promise) {
      opening.then(take).catch(fail)
      return
    }
    try {
      take(opening)
    } catch (error) {
      fail(error)
    }
  }

  /** A worker counts alike, and sends no more. */
  function written(bytes: number): void {
    unsent -= bytes
    unsaid += bytes
    if (unsent > 0 && unsaid < writtenReportBytes) return
    if (unsaid > 0 && state === 'open') listener.event({ event: 'written', bytes: unsaid })
    unsaid = 0
  }

  /** The host ends it. */
  function cutOff(end: LinkEnd): void {
    link?.destroy()
    attempt += 1
    lost(end)
  }

  // What is closed by then is not made at all.
  listener.later(() => {
    if (over) return
    if (settings.refusal === undefined) connect()
    else cutOff({ reason: settings.refusal, refused: true })
  })

  return {
    kind,
    view: () => ({
      kind,
      target: settings.shownTarget,
      state,
      since: new Date(since()).toISOString(),
      lastError,
      bytesIn,
      bytesOut,
    }),
    write(name, payload, text, foreignCaller) {
      if (state !== 'open' || link === undefined) return
      const addressed = settings.addressed(name, session, foreignCaller)
      if (addressed === undefined) return
      if (settings.mayWrite?.() === false) {
        finish()
        return
      }
      const bytes = payload.byteLength + messageOverhead
      if (unsent + bytes > 2 * (unsentLimit + messageOverhead)) {
        cutOff({ reason: 'more was written to it than a connection takes', refused: true })
        return
      }
      unsent += bytes
      bytesOut += payload.byteLength
      const mine = attempt
      // A copy: what has come with it is much larger, and would stay as long.
      link.write(Buffer.from(payload), { text, peer: addressed.peer }, () => {
        if (!over && mine === attempt) written(bytes)
      })
    },
    pause() {
      paused = true
      if (state === 'open') link?.pause()
    },
    resume() {
      paused = false
      if (state === 'open') link?.resume()
    },
    overlong(of, what) {
      if (state === 'open' && of === session)
        cutOff({
          reason: `the other side has sent ${articles[what]} ${what} of more than ${connectionMessageLimit} bytes`,
        })
    },
    continues(lastEventId, wait) {
      if (waiting === undefined) return
      settings.goOnFrom?.(lastEventId)
      connectAfter(wait)
    },
    close() {
      if (over) return Promise.resolve()
      closed ??= new Promise((resolve) => {
        settleClosed = resolve
      })
      if (state === 'open' && link !== undefined) {
        become('closing')
        timer = clock.schedule(closingTime, finish)
        // What is paused would never come to its end; and some are at their end as soon as they are closed.
        link.resume()
        link.close()
      } else if (state !== 'closing') finish()
      return closed
    },
    destroy: finish,
  }
}
