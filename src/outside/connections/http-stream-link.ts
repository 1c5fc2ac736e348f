import { connectionMessageLimit } from '../../schema/connection.ts'
import type { HttpRequest } from '../../schema/outside.ts'
import { HttpFailure, type OpenAnswer } from '../http-client.ts'
import { createEventStreamReader } from './event-stream-reader.ts'
import { createFramer } from './framing.ts'
import { endOf, type Link, type LinkContext, type LinkEnd, type LinkEvents } from './link.ts'

/** What is remembered from one connection to the next. */
export interface StreamPosition {
  /** Empty: the stream has named none. */
  lastEventId: string
}

export interface HttpStream {
  plugin: string
  request: HttpRequest
  position: StreamPosition
  /** Why it may not connect there. */
  connect(host: string, port: number): string | undefined
}

const lineFeed = Buffer.from('\n')

/** An answer over HTTP that is read line by line, or event by event, as it comes. */
export function openHttpStream(
  { plugin, request, position, connect }: HttpStream,
  events: LinkEvents,
  { clock, http }: LinkContext,
): Link {
  const controller = new AbortController()
  let body: OpenAnswer['body'] | undefined
  let paused = false
  let over = false
  let wait = 0

  function stop(): void {
    over = true
    deadline.cancel()
    framer.close()
    controller.abort()
    body?.destroy()
  }

  function end(how: LinkEnd): void {
    if (over) return
    stop()
    events.ended({ wait, ...how })
  }

  const { timeout } = request
  const deadline = clock.schedule(timeout, () => end({ reason: `timeout after ${timeout} ms` }))
  const overlong = (what: string) => (): void =>
    end({ reason: `the other side has sent ${what} of more than ${connectionMessageLimit} bytes` })
  const reader = createEventStreamReader({
    lastEventId: position.lastEventId,
    limit: connectionMessageLimit,
    event: (event) => {
      if (!over) events.message(Buffer.from(JSON.stringify(event)), { text: true })
    },
    identified: (id) => {
      position.lastEventId = id
    },
    retry: (milliseconds) => {
      wait = milliseconds
    },
    overlong: overlong('an event'),
  })
  let takeLine = (line: Uint8Array): void => {
    if (!over) events.message(line, { text: false })
  }
  const framer = createFramer({
    ...{ framing: { by: 'line' }, clock, limit: connectionMessageLimit },
    frame: (line) => takeLine(line),
    overlong: overlong('a line'),
  })

  function read(answer: OpenAnswer): void {
    let isWhole = true
    answer.body.on('data', (chunk: Uint8Array) => {
      if (over) return
      isWhole = chunk.at(-1) === lineFeed[0]
      framer.push(chunk)
    })
    answer.body.on('end', () => {
      // A last line may lack its end; an event without an empty line after it is none.
      if (!over && !isWhole) framer.push(lineFeed)
      end({ reason: null })
    })
    if (paused) answer.body.pause()
  }

  function opened(answer: OpenAnswer): void {
    ;({ body } = answer)
    const headers = new Map(answer.headers)
    // Also of what is thrown away.
    body.on('error', (error) => end(endOf(error, answer.place)))
    if (over) {
      body.destroy()
      return
    }
    const encoding = headers.get('content-encoding') ?? 'identity'
    // The server says in this way that it has nothing more, and is not to be asked again.
    if (answer.status === 204) end({ reason: null, refused: true })
    else if (answer.status >= 300) end({ reason: `HTTP ${answer.status}`, code: answer.status })
    else if (encoding !== 'identity') end({ reason: `the stream is encoded (${encoding})`, refused: true })
    else {
      deadline.cancel()
      if (/^text\/event-stream\s*(;|$)/i.test(headers.get('content-type') ?? '')) takeLine = reader.line
      events.opened()
      read(answer)
    }
  }

  http
    .open(plugin, withDefaults(request, position), controller.signal, connect)
    .then(opened, (error: unknown) => {
      if (error instanceof HttpFailure) end({ reason: error.message, refused: error.refused })
      else end(endOf(error, 'the server'))
    })

  return {
    // Nothing is written to it.
    write: (_payload, _message, written) => written(),
    pause() {
      paused = true
      body?.pause()
    },
    resume() {
      paused = false
      body?.resume()
    },
    close: () => end({ reason: null }),
    destroy: stop,
  }
}

/** What the plugin gives wins. */
function withDefaults(request: HttpRequest, { lastEventId }: StreamPosition): HttpRequest {
  const names = new Set(request.headers.map(([name]) => name.toLowerCase()))
  const defaults: [string, string][] = [
    ['Accept', 'text/event-stream, */*'],
    ['Accept-Encoding', 'identity'],
    ['Cache-Control', 'no-cache'],
    ...(lastEventId === ''
      ? []
      : [['Last-Event-ID', Buffer.from(lastEventId).toString('latin1')] as [string, string]]),
  ]
  const missing = defaults.filter(([name]) => !names.has(name.toLowerCase()))
  return { ...request, headers: [...request.headers, ...missing] }
}
