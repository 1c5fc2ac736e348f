import type { Duplex } from 'node:stream'

export type ReadConnection = Pick<Duplex, 'destroyed' | 'read' | 'emit'>

interface Stop {
  readonly read: ReadConnection['read']
  /** How many want it. */
  count: number
}

const stops = new WeakMap<ReadConnection, Stop>()

/** Reads nothing more of a connection until everybody who has paused it has called the function that is returned. */
export function pauseReading(connection: ReadConnection): () => void {
  const stop = stops.get(connection) ?? { read: connection.read, count: 0 }
  if (stop.count === 0) {
    stops.set(connection, stop)
    // With 0 Node itself asks, for more to come.
    connection.read = (size?: number): unknown => (size === 0 ? stop.read.call(connection, 0) : null)
  }
  stop.count += 1
  return () => {
    stop.count -= 1
    if (stop.count > 0) return
    stops.delete(connection)
    connection.read = stop.read
    connection.emit('readable')
  }
}
