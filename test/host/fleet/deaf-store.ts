import { connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { listen } from '../../helpers/listen.ts'

/** Stands before a store, and loses what is asked of it, while its connections seem to be well. */
export interface DeafStore {
  readonly url: string
  /** What a question has to be, in part, to get lost from now on; undefined: nothing does. */
  lose(what: RegExp | undefined): void
  /** Questions that were lost. */
  readonly lost: number
}

export async function startDeafStore(t: TestContext, target: string): Promise<DeafStore> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let losing: RegExp | undefined
  let lost = 0
  const server = createServer((near) => {
    const far = connect(Number(port), hostname)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('error', () => from.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
      // The client writes whole questions.
      from.on('data', (bytes) => {
        if (from === near && losing?.test(bytes.toString('latin1')) === true) lost += 1
        else to.write(bytes)
      })
    }
  })
  const ownPort = await listen(server)
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    url: `nats://127.0.0.1:${ownPort}`,
    lose(what) {
      losing = what
    },
    get lost() {
      return lost
    },
  }
}
