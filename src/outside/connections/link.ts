import type { Clock } from '../../base/time/clock.ts'
import { messageOf, systemErrorCode } from '../../base/problem.ts'
import type { ConnectionMessage, OpenedDetails } from '../../schema/outside/connection.ts'
import type { Finders } from '../discovery/finders.ts'
import type { HttpClient } from '../http/http-client.ts'
import { networkFailure } from '../network-error.ts'
import { isRefusal, type OwnListeners } from '../own-listeners.ts'
import type { DeliveryWatchdog } from './delivery-watchdog.ts'

/** Milliseconds that what has been written, and the other side, may take once a connection is being closed. */
export const closingTime = 2_000

/** One attempt to connect, and what comes of it. */
export interface Link {
  /** `written` is called when it has gone. */
  write(payload: Uint8Array, message: ConnectionMessage, written: () => void): void
  pause(): void
  resume(): void
  /** Ends it after what has been written. */
  close(): void
  /** Ends it at once. Nothing is said of it any more. */
  destroy(): void
}

/** Why a link has ended. */
export interface LinkEnd {
  /** Null: the other side has ended it in order. */
  reason: string | null
  code?: number
  /** Another attempt would end in the same way. */
  refused?: boolean
}

/** What a link tells, never while it is being made. */
export interface LinkEvents {
  opened(details?: OpenedDetails): void
  message(payload: Uint8Array, message: ConnectionMessage): void
  /** Nothing has come for as long as the target says. */
  silence(): void
  /** The last word; once. */
  ended(end: LinkEnd): void
  /** A line for the plugin's log. */
  warn(message: string): void
}

/** What links are made with. */
export interface LinkContext {
  clock: Clock
  own: OwnListeners
  /** Sent as `User-Agent: lupine/<version>`. */
  hostVersion: string
  watchDelivery: DeliveryWatchdog
  http: Pick<HttpClient, 'open'>
  /** Loaded when something is looked for. */
  finders(): Promise<Finders>
}

/** What an error of a socket says, in words. */
export function linkEndOf(error: unknown, place: string): LinkEnd {
  if (isRefusal(error)) return { reason: messageOf(error), refused: true }
  const code = systemErrorCode(error)
  if (code === 'ECONNRESET' || code === 'EPIPE')
    return { reason: `${place} broke off the connection (${code})` }
  return { reason: networkFailure(error, place).message }
}
