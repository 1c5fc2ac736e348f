import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { join } from 'node:path'
import { listen } from '../helpers/listen.ts'

/** A request as the server saw it. */
export interface Seen {
  method: string
  /** As it stood in the request line. */
  target: string
  headers: Record<string, string | undefined>
  body: string
}

export interface WebServer {
  /** `http://127.0.0.1:<port>` */
  readonly url: string
  readonly port: number
  readonly seen: Seen[]
  /** Connections that were made so far. */
  readonly connections: number
  close(): Promise<void>
}

export type Respond = (seen: Seen, response: ServerResponse, request: IncomingMessage) => void

const certificates = join(import.meta.dirname, '..', 'fixtures', 'tls')

/** A web server on a free port that writes down what it is asked. */
export async function startWebServer(respond: Respond, options: { tls?: boolean } = {}): Promise<WebServer> {
  const seen: Seen[] = []
  let connections = 0
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const one: Seen = {
        method: request.method ?? '',
        target: request.url ?? '',
        headers: request.headers as Record<string, string | undefined>,
        body: Buffer.concat(chunks).toString(),
      }
      seen.push(one)
      respond(one, response, request)
    })
  }
  const server: Server =
    options.tls === true
      ? createTlsServer(
          {
            key: readFileSync(join(certificates, 'key.pem')),
            cert: readFileSync(join(certificates, 'certificate.pem')),
          },
          listener,
        )
      : createServer(listener)
  server.on('connection', () => {
    connections += 1
  })
  const port = await listen(server)
  return {
    url: `${options.tls === true ? 'https' : 'http'}://127.0.0.1:${port}`,
    port,
    seen,
    get connections() {
      return connections
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
