import { connect, createServer } from 'node:net'
import type { TestContext } from 'node:test'
import { keptSockets } from '../../helpers/kept-sockets.ts'
import { listen } from '../../helpers/listen.ts'

/** Stands before a store, and can keep what others have written in the journal until a host asks how far that goes. */
export interface LateNews {
  readonly url: string
  /** From now on news waits for that question. */
  hold(): void
  /** Whether nobody has asked it since. */
  readonly isHolding: boolean
}

const news = '$JS.ACK.LUPINE_test_JOURNAL.'
const howFar = '$JS.API.STREAM.INFO.LUPINE_test_JOURNAL '

export async function startLateNews(t: TestContext, target: string): Promise<LateNews> {
  const { hostname, port } = new URL(target)
  let isHolding = false
  const server = createServer((near) => {
    const far = keep(connect(Number(port), hostname))
    keep(near).on('close', () => far.destroy())
    far.on('close', () => near.destroy())
    const held: Buffer[] = []
    near.on('data', (bytes) => {
      far.write(bytes)
      if (!bytes.includes(howFar)) return
      isHolding = false
      for (const late of held.splice(0)) near.write(late)
    })
    far.on('data', (bytes) => {
      // What comes behind it waits, too.
      if (held.length > 0 || (isHolding && bytes.includes(news))) held.push(bytes)
      else near.write(bytes)
    })
  })
  const { keep } = keptSockets(t, server)
  const ownPort = await listen(server)
  return {
    url: `nats://127.0.0.1:${ownPort}`,
    hold() {
      isHolding = true
    },
    get isHolding() {
      return isHolding
    },
  }
}
