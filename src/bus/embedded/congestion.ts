import type { Duplex } from 'node:stream'

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
  let waiters: (() => void)[] = []

  function hasCaughtUp(connection: Duplex): void {
    if (!behind.delete(connection) || behind.size > 0) return
    const resolved = waiters
    waiters = []
    for (const resolve of resolved) resolve()
  }

  return {
    note(connection) {
      if (connection.writableLength <= backlogLimit || behind.has(connection)) return
      behind.add(connection)
      const caughtUp = (): void => {
        connection.off('drain', caughtUp)
        connection.off('close', caughtUp)
        hasCaughtUp(connection)
      }
      connection.on('drain', caughtUp)
      connection.on('close', caughtUp)
    },
    over: () => (behind.size === 0 ? undefined : new Promise((resolve) => waiters.push(resolve))),
  }
}
