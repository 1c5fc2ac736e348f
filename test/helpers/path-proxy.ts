import { createServer, request, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { keptSockets } from './kept-sockets.ts'
import { listen } from './listen.ts'

/** A proxy that shows a host below a path of its own name, and takes that path off; all else there is somebody else's. */
export interface PathProxy {
  /** With the path, and without a slash at its end. */
  readonly url: string
  /** Whom it asks. */
  target: string
  /** Targets that were asked for and are not below the path. */
  readonly strays: string[]
}

export async function createPathProxy(context: TestContext, path: string): Promise<PathProxy> {
  const strays: string[] = []
  const server = createServer((asked, answer) => {
    const inside = targetOf(asked)
    if (inside === undefined) {
      answer.writeHead(404).end('Somebody else')
      return
    }
    const { method, headers } = asked
    const onward = request(new URL(proxy.target), { method, path: inside, headers }, (given) => {
      answer.writeHead(given.statusCode ?? 502, given.rawHeaders)
      given.pipe(answer)
    })
    onward.on('error', () => answer.destroy())
    answer.on('close', () => onward.destroy())
    asked.pipe(onward)
  })
  server.on('upgrade', (asked: IncomingMessage, near: Socket, head) => {
    const inside = targetOf(asked)
    const { hostname, port } = new URL(proxy.target)
    const far = keep(connect(Number(port), hostname))
    keep(near)
    near.on('close', () => far.destroy())
    far.on('close', () => near.destroy())
    const lines = [`${asked.method} ${inside} HTTP/1.1`]
    for (let index = 0; index < asked.rawHeaders.length; index += 2)
      lines.push(`${asked.rawHeaders[index]}: ${asked.rawHeaders[index + 1]}`)
    far.write(`${lines.join('\r\n')}\r\n\r\n`)
    far.write(head)
    near.pipe(far).pipe(near)
  })
  const { keep } = keptSockets(context, server)
  server.on('connection', keep)

  function targetOf({ url = '' }: IncomingMessage): string | undefined {
    if (url.startsWith(`${path}/`)) return url.slice(path.length)
    strays.push(url)
    return undefined
  }

  const port = await listen(server)
  const proxy: PathProxy = { url: `http://127.0.0.1:${port}${path}`, target: '', strays }
  return proxy
}
