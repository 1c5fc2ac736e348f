import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { keptSockets } from '../helpers/kept-sockets.ts'
import { listen } from '../helpers/listen.ts'

/** Stands before a server, and can cut its connections, and hold new ones up before anything is said. */
export interface HoldingProxy {
  readonly url: string
  /** Cuts all connections; resolves when somebody has begun a new one, which is held up. */
  hold(): Promise<void>
  /** Passes on what is held up, and what comes. */
  release(): void
}

export async function startHoldingProxy(context: TestContext, port: number): Promise<HoldingProxy> {
  const held = new Set<Socket>()
  let isHolding = false
  const server = createServer((socket) => {
    keep(socket).on('close', () => held.delete(socket))
    if (isHolding) held.add(socket)
    else pass(socket)
    server.emit('accepted')
  })

  const { cut, keep } = keptSockets(context, server)

  function pass(socket: Socket): void {
    const further = keep(connect(port, '127.0.0.1'))
    socket.pipe(further).pipe(socket)
    socket.on('close', () => further.destroy())
    further.on('close', () => socket.destroy())
  }

  const ownPort = await listen(server)
  return {
    url: `nats://127.0.0.1:${ownPort}`,
    async hold() {
      isHolding = true
      const accepted = once(server, 'accepted')
      cut()
      await accepted
    },
    release() {
      isHolding = false
      for (const socket of held) pass(socket)
      held.clear()
    },
  }
}
