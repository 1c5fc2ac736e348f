import type { Duplex } from 'node:stream'
import { createDeferred, type Deferred } from '../../base/time/deferred.ts'

/** Bytes that may wait for one client before those who publish are asked to wait for it. */
const backlogLimit = 1024 * 1024

/** Which clients read more slowly than messages come, so that whoever publishes much can wait for them. */
export interface Congestion {
  /** Looks at a connection to which something is about to be written. */
  note(connection: Duplex): void
  /** Resolves when all of them have read what waits for them, or are gone; undefined when none is behind. */
  over(): Promise<void> | undefined
}

export function createCongestion(): Congestion {
  const behind = new Set<Duplex>()
  let caughtUp: Deferred<undefined> | undefined

  function hasCaughtUp(connection: Duplex): void {
    if (!behind.delete(connection) || behind.size > 0) return
    caughtUp?.resolve(undefined)
    caughtUp = undefined
  }

  return {
    note(connection) {
      if (connection.writableLength <= backlogLimit || behind.has(connection)) return
      behind.add(connection)
      const release = (): void => {
        connection.off('drain', release)
        connection.off('close', release)
        hasCaughtUp(connection)
      }
      connection.on('drain', release)
      connection.on('close', release)
    },
    over: () => (behind.size === 0 ? undefined : (caughtUp ??= createDeferred()).promise),
  }
}
