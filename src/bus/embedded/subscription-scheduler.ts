import { type ReadConnection, pauseReading } from './pause-reading.ts'

/** Filters of one client in a turn after which nothing more of it is read, and of those that wait so many in each turn: some milliseconds. */
export const filtersPerTurn = 500
/** More in one turn wait: only some of its last SUBSCRIBE, as what is read at a time has fewer than `filtersPerTurn` before that. */
export const filtersAtOnce = 2 * filtersPerTurn

interface Subscriber {
  readonly conn: ReadConnection
}

interface Turn {
  /** Filters that have come in it. */
  count: number
  /** What waits for the next one. */
  waiting: (() => void)[]
  readOn: (() => void) | undefined
}

/**
 * Spreads what is to be done for each filter of a client over turns, as one packet may have more than a hundred thousand: others are
 * served in between. The order stays, and what the client sends next is read when all of it is done.
 */
export function createSubscriptionScheduler(): (client: Subscriber, task: () => void) => void {
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
    const turn: Turn = { count: 0, waiting: [], readOn: undefined }
    turns.set(client, turn)
    setImmediate(next, client, turn)
    return turn
  }

  return (client, task) => {
    const turn = turns.get(client) ?? begin(client)
    turn.count += 1
    if (turn.count >= filtersPerTurn) turn.readOn ??= pauseReading(client.conn)
    if (turn.count > filtersAtOnce) turn.waiting.push(task)
    else task()
  }
}
