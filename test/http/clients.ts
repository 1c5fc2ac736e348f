import { once } from 'node:events'
import { connect } from 'node:net'

/** Sends bytes as they are and gives everything that comes back until the other side closes. */
export async function exchange(url: string, ...parts: (string | Buffer)[]): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname.replace(/[[\]]/g, ''))
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  // A reset after the answer is what a refused sender sees; what was read before counts.
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  for (const part of parts) socket.write(part)
  if (!socket.destroyed) await once(socket, 'close')
  return Buffer.concat(chunks).toString('utf8')
}

/** How a WebSocket begins: complete, but for a protocol that somebody speaks. */
export const handshake = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
}

export interface RawAnswer {
  status: number
  headers: Record<string, string>
  body: any
}

/** The first answer in what `exchange` gave. */
export function parseAnswer(text: string): RawAnswer {
  const [head = '', ...rest] = text.split('\r\n\r\n')
  const [statusLine = '', ...lines] = head.split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    }),
  )
  const body = rest.join('\r\n\r\n')
  const isJson = headers['content-type']?.includes('json') === true && body.startsWith('{')
  return { status: Number(statusLine.split(' ')[1]), headers, body: isJson ? JSON.parse(body) : body }
}

export interface ServerSentEvent {
  id?: string
  event?: string
  data?: any
  comment?: string
  retry?: string
}

export interface EventReader {
  status: number
  headers: Headers
  /** The next event; undefined when the stream has ended. */
  next(): Promise<ServerSentEvent | undefined>
  /** Events up to and with the first that fits. */
  until(fits: (event: ServerSentEvent) => boolean): Promise<ServerSentEvent[]>
  close(): Promise<void>
}

/** Reads a stream of server-sent events. */
export async function readEvents(url: string, headers: Record<string, string> = {}): Promise<EventReader> {
  const stop = new AbortController()
  const answer = await fetch(url, { headers, signal: stop.signal })
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  async function next(): Promise<ServerSentEvent | undefined> {
    for (;;) {
      const end = text.indexOf('\n\n')
      if (end >= 0) {
        const block = text.slice(0, end)
        text = text.slice(end + 2)
        return parseEvent(block)
      }
      const { value, done } = (await reader?.read()) ?? { value: undefined, done: true }
      if (done) return undefined
      text += value
    }
  }
  return {
    status: answer.status,
    headers: answer.headers,
    next,
    async until(fits) {
      const events: ServerSentEvent[] = []
      for (;;) {
        const event = await next()
        if (event === undefined) throw new Error(`The stream ended after ${JSON.stringify(events)}`)
        events.push(event)
        if (fits(event)) return events
      }
    },
    async close() {
      stop.abort()
      await reader?.cancel().catch(() => undefined)
    },
  }
}

function parseEvent(block: string): ServerSentEvent {
  const event: ServerSentEvent = {}
  for (const line of block.split('\n')) {
    if (line.startsWith(':')) event.comment = line.slice(1).trim()
    else if (line.startsWith('id: ')) event.id = line.slice(4)
    else if (line.startsWith('event: ')) event.event = line.slice(7)
    else if (line.startsWith('retry: ')) event.retry = line.slice(7)
    else if (line.startsWith('data: ')) event.data = JSON.parse(line.slice(6))
  }
  return event
}
