import type { Clock } from '../../../base/time/clock.ts'
import { waitAtMost } from '../../../base/time/wait.ts'
import type { StoreConnection } from '../../../fleet/store/connect-store.ts'
import { isConnected } from '../../../fleet/store/keep-nothing.ts'

/**
 * Hosts that have said that they end, so that of several which end together one is the last. The server puts what they say in
 * an order: who speaks later has heard those before.
 */
export interface Leavers {
  /** Says so of this host, whose session that is. Resolves when it has heard whoever was before it; never rejects. */
  tell(session: string): Promise<void>
  has(host: string, session: string): boolean
  /** The sessions, by host, of those who said so before this host did. */
  before(): ReadonlyMap<string, string>
  close(): void
}

/** Milliseconds for the way to the store and back. */
const patience = 500

export function createLeavers(parts: {
  connection: StoreConnection
  fleet: string
  host: string
  clock: Clock
}): Leavers {
  const { connection, fleet, host, clock } = parts
  const subject = `lupine.${fleet}.messages.leaving`
  const sessions = new Map<string, string>()
  let before: ReadonlyMap<string, string> | undefined
  const subscription = connection.subscribe(subject, {
    callback(error, message) {
      const [from = '', session = ''] = error === null ? message.string().split(' ') : []
      if (from === host) before ??= new Map(sessions)
      else if (session !== '') sessions.set(from, session)
    },
  })

  return {
    async tell(session) {
      if (!isConnected(connection)) return
      connection.publish(subject, `${host} ${session}`)
      await waitAtMost(clock, patience, connection.flush())
    },
    has: (other, session) => sessions.get(other) === session,
    before: () => before ?? sessions,
    close: () => subscription.unsubscribe(),
  }
}
