import { createTurnLimiter } from '../../base/turn-limiter.ts'
import type { RetainedSearch } from '../store/retained-messages.ts'
import { type ReadConnection, pauseReading } from './pause-reading.ts'

/** Filters of one client that are searched for at a time; each search has a tree of them, of up to some kilobytes each. */
const filtersLimit = 5_000

/**
 * Runs searches for what is retained in turns of the event loop, round robin by client, however many searches each has: one may look at
 * each of forty thousand messages for each of thousands of filters. A client that has subscribed to so many while others of
 * its searches go on is not read until one is over.
 */
export interface RetainedSearchScheduler {
  /** To be called when this client has subscribed: the next `begin` is for it. */
  subscribed(client: { conn: ReadConnection }): void
  /** Begins a search for the client that has subscribed last. */
  begin(filters: readonly string[]): RetainedSearch
}

export function createRetainedSearchScheduler(): RetainedSearchScheduler {
  const passTurn = createTurnLimiter(1)
  /** Filters that are being searched for. */
  const searched = new WeakMap<ReadConnection, number>()
  /** The turn that each has asked for last. */
  const lastTurns = new WeakMap<ReadConnection, Promise<void>>()
  let subscriber: ReadConnection | undefined

  /** The next one for a client, behind those that it has asked for already; at once where it has gone. */
  function turnOf(connection: ReadConnection): Promise<void> {
    const before = lastTurns.get(connection) ?? Promise.resolve()
    const turn = before.then(() => (connection.destroyed ? undefined : passTurn()))
    lastTurns.set(connection, turn)
    return turn
  }

  return {
    subscribed({ conn }) {
      subscriber = conn
    },
    begin({ length }) {
      const connection = subscriber
      subscriber = undefined
      const before = connection === undefined ? 0 : (searched.get(connection) ?? 0)
      const add = (more: number): void => {
        if (connection !== undefined) searched.set(connection, (searched.get(connection) ?? 0) + more)
      }
      add(length)
      const isMuch = before > 0 && before + length > filtersLimit
      const readOn = connection !== undefined && isMuch ? pauseReading(connection) : undefined
      return {
        async nextTurn() {
          await (connection === undefined ? passTurn() : turnOf(connection))
          return connection?.destroyed !== true
        },
        end() {
          add(-length)
          readOn?.()
        },
      }
    },
  }
}
