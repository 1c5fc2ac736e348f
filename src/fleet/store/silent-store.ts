import type { NatsConnection } from '@nats-io/transport-node'
import { isConnected } from './keep-nothing.ts'

/** Milliseconds without an answer from the store, while it is asked, after which another server is gone to. */
const silenceLimit = 5_000

/** What became of a question. */
interface Questions {
  answered(): void
  unanswered(): void
}

const watched = new WeakMap<NatsConnection, Questions>()

/**
 * From now on the connection goes to the next server when nothing that the store is asked over it is answered. A server that
 * is cut off from the others takes connections and answers pings, and has no store behind it. `now`: in milliseconds.
 */
export function leaveSilentServers(connection: NatsConnection, now: () => number): void {
  let silentSince: number | undefined
  watched.set(connection, {
    answered() {
      silentSince = undefined
    },
    unanswered() {
      silentSince ??= now()
      if (!isConnected(connection)) silentSince = undefined
      else if (now() - silentSince >= silenceLimit) {
        silentSince = undefined
        // Who has closed it meanwhile needs none.
        connection.reconnect().catch(() => undefined)
      }
    },
  })
}

/** What the store was asked over the connection: nothing comes of it where nobody has said that it is to leave silent servers. */
export function questionsOver(connection: NatsConnection): Questions {
  const ignored = { answered: () => undefined, unanswered: () => undefined }
  return watched.get(connection) ?? ignored
}
