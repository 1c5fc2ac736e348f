import { connect, createServer } from 'node:net'
import type { TestContext } from 'node:test'
import { keptSockets } from './kept-sockets.ts'
import { listen } from './listen.ts'

/** The way to a server, which a test can cut: bytes are then held back on it, as in a network that is down. */
export interface TcpProxy {
  readonly port: number
  /** Nothing passes any more, in either direction, on connections that there are and on new ones. */
  hold(): void
  /**
   * Connections that there are stay open, and nothing comes through them any more, as through a router that has forgotten
   * them; new ones are as before.
   */
  forget(): void
  /** What was held back goes on, and all that follows. */
  pass(): void
  /** Ends all connections, and every new one until `pass`. */
  refuse(): void
}

export async function createTcpProxy(context: TestContext, target: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(target)
  /** What one end is to be told of the other, once the way is up again. */
  const ends = new Set<() => void>()
  let mode: 'pass' | 'hold' | 'refuse' = 'pass'

  const server = createServer((near) => {
    if (mode === 'refuse') {
      near.destroy()
      return
    }
    const far = keep(connect(Number(port), hostname))
    for (const [from, to] of [
      [keep(near), far],
      [far, near],
    ] as const) {
      from.setNoDelay(true)
      from.on('data', (bytes) => to.write(bytes))
      // A way that is down does not tell either end that the other is gone.
      // As on a network: the end comes after the bytes before it. One that is cut off at once waits for nothing.
      from.on('end', () => to.end())
      const end = (): void => void to.destroy()
      from.on('close', (isBroken) => {
        if (isBroken || !from.readableEnded) {
          if (mode === 'hold') ends.add(end)
          else end()
        }
      })
      if (mode === 'hold') from.pause()
    }
  })
  const { sockets, cut, keep } = keptSockets(context, server)
  const ownPort = await listen(server)
  return {
    port: ownPort,
    hold() {
      mode = 'hold'
      for (const socket of sockets) socket.pause()
    },
    forget() {
      for (const socket of sockets) socket.pause()
    },
    pass() {
      mode = 'pass'
      for (const end of ends) end()
      ends.clear()
      for (const socket of sockets) socket.resume()
    },
    refuse() {
      mode = 'refuse'
      cut()
    },
  }
}
