import type { Socket } from 'node:net'
import { systemErrorCode } from '../../base/problem.ts'

/** Which failures are those of a connection that was kept, and has answered before. */
export interface StaleConnections {
  /** From now on it is known of the errors of this one. */
  watch(socket: Socket): void
  /** Whether the connection had answered something, and was closed before it answered this. */
  isErrorOfOne(error: unknown): boolean
}

export function createStaleConnections(): StaleConnections {
  const failures = new WeakSet<Error>()
  return {
    watch(socket) {
      socket.once('error', (error: Error) => {
        const code = systemErrorCode(error)
        if (code === 'ECONNRESET') hideReset(error)
        if (socket.bytesRead > 0 && (code === 'ECONNRESET' || code === 'EPIPE')) failures.add(error)
      })
    },
    isErrorOfOne(error) {
      if (!(error instanceof Error)) return false
      return failures.has(error) || (wasClosed(error) && error.socket.bytesRead > 0)
    },
  }
}

/** undici takes an answer without a length for whole when its connection breaks off. While it hears of it, it is another error. */
function hideReset(error: Error): void {
  Object.assign(error, { code: 'EPIPE' })
  queueMicrotask(() => Object.assign(error, { code: 'ECONNRESET' }))
}

/** What undici says of a connection that the other side has closed in order. */
function wasClosed(error: Error): error is Error & { socket: { bytesRead: number } } {
  return systemErrorCode(error) === 'UND_ERR_SOCKET' && error.message === 'other side closed'
}
