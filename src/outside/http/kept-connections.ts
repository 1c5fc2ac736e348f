import type { Socket } from 'node:net'
import type { Pool } from 'undici'

/** Connections at one time, as long as some of them are not in use: a server may ask to have its own kept for ten minutes. */
export const keptConnectionsLimit = 256

/** Those to one server; `size`: requests that have one, or wait for one. */
interface ServerConnections {
  readonly stats: Pick<Pool['stats'], 'size'>
}

/**
 * Has connections that nobody uses make room for others: each takes a file descriptor of the host. What is answered is told of
 * each one more.
 */
export function createKeptConnections(): (pool: ServerConnections, socket: Socket) => void {
  /** The oldest first. */
  const open = new Map<Socket, ServerConnections>()

  function makeRoom(): void {
    for (const [socket, { stats }] of open) {
      if (open.size <= keptConnectionsLimit) return
      if (stats.size > 0) continue
      open.delete(socket)
      socket.destroy()
    }
  }

  return (pool, socket) => {
    open.set(socket, pool)
    socket.once('close', () => open.delete(socket))
    makeRoom()
  }
}
