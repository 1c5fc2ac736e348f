import type { Duplex } from 'node:stream'

/** Filters of one client that are looked at in one turn: some milliseconds. */
export const filtersPerTurn = 500

interface Subscriber {
  readonly conn: Pick<Duplex, 'destroyed' | 'read' | 'emit'>
}

interface Turn {
  /** Filters that may still be looked at in it. */
  left: number
  /** What waits for the next one. */
  waiting: (() => void)[]
  readOn: (() => void) | undefined
}

/**
 * Spreads what is to be done for each filter of a client over turns, as one packet may have more than a hundred thousand: others are
 * served in between. The order stays, and what the client sends next is read when all of it is done.
 */
export function createSubscriptionTurns(): (client: Subscriber, task: () => void) => void {
  const turns = new WeakMap<Subscriber, Turn>()

  function next(client: Subscriber, turn: Turn): void {
    const { waiting } = turn
    for (const task of waiting.splice(0, filtersPerTurn)) if (!client.conn.destroyed) task()
    if (waiting.length > 0) {
      setImmediate(next, client, turn)
      return
    }
    turns.delete(client)
    turn.readOn?.()
  }

  function begin(client: Subscriber): Turn {
    const turn: Turn = { left: filtersPerTurn, waiting: [], readOn: undefined }
    turns.set(client, turn)
    setImmediate(next, client, turn)
    return turn
  }

  return (client, task) => {
    const turn = turns.get(client) ?? begin(client)
    if (turn.left > 0) {
      turn.left -= 1
      task()
      return
    }
    turn.readOn ??= stopReading(client.conn)
    turn.waiting.push(task)
  }
}

/** As if nothing had come. Returns the way to read on. */
function stopReading(connection: Subscriber['conn']): () => void {
  const { read } = connection
  // With 0 Node itself asks, for more to come.
  connection.read = (size?: number): unknown => (size === 0 ? read.call(connection, 0) : null)
  return () => {
    connection.read = read
    connection.emit('readable')
  }
}
