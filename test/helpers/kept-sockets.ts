import type { Server, Socket } from 'node:net'
import type { TestContext } from 'node:test'

/** The connections of a proxy in both directions, until they end; with the test they do, and its server. */
export function keptSockets(context: TestContext, server: Server) {
  const sockets = new Set<Socket>()
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  context.after(() => {
    cut()
    server.close()
  })
  return {
    sockets,
    cut,
    keep(socket: Socket): Socket {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
      socket.on('close', () => sockets.delete(socket))
      return socket
    },
  }
}
