import type { Readable } from 'node:stream'
import { readAvailable } from '../../base/network/read-available.ts'
import { scheduleDeadline } from '../../base/time/clock.ts'
import type { HttpRequest } from '../../schema/outside/outside.ts'
import { createStreamDecoder } from '../http/http-body.ts'
import { HttpFailure, type OpenAnswer } from '../http/open-answer.ts'
import { linkEndOf, type Link, type LinkContext, type LinkEnd, type LinkEvents } from './link.ts'

export interface HttpStream {
  plugin: string
  request: HttpRequest
  /** The last one of an earlier connection; empty: none. */
  lastEventId: string
  /** Why it may not connect there. */
  connect(host: string, port: number): string | undefined
}

/** An answer over HTTP that goes on: its body as it comes. */
export function openHttpStream(
  { plugin, request, lastEventId, connect }: HttpStream,
  events: LinkEvents,
  { clock, http }: LinkContext,
): Link {
  const controller = new AbortController()
  let body: OpenAnswer['body'] | undefined
  /** The body, as it was before the server has encoded it. */
  let content: Readable | undefined
  let paused = false
  let over = false

  function stop(): void {
    over = true
    deadline.cancel()
    controller.abort()
    body?.destroy()
    content?.destroy()
  }

  function end(how: LinkEnd): void {
    if (over) return
    stop()
    events.ended(how)
  }

  const { timeout } = request
  const deadline = scheduleDeadline(clock, timeout, () => end({ reason: `timeout after ${timeout} ms` }))

  /** In one piece: a server may send it byte by byte, as fast as it can. */
  function read(): void {
    if (content === undefined || paused || over) return
    const stream = content
    const chunk = readAvailable(stream, () => stream.read() as Buffer | null)
    if (chunk !== null) events.message(chunk, { text: false })
  }

  /** What is encoded all the same is decoded, as it is for a request. */
  function contentOf(encoded: Readable, encoding: string): Readable {
    const decoder = createStreamDecoder(encoding)
    if (decoder === undefined) return encoded
    decoder.on('error', () => end({ reason: `the stream is not the ${encoding} that the server says it is` }))
    return encoded.pipe(decoder)
  }

  function opened(answer: OpenAnswer): void {
    ;({ body } = answer)
    const headers = new Map(answer.headers)
    // Also of what is thrown away.
    body.on('error', (error) => end(linkEndOf(error, answer.place)))
    if (over) {
      body.destroy()
      return
    }
    // The server says in this way that it has nothing more, and is not to be asked again.
    if (answer.status === 204) end({ reason: null, refused: true })
    else if (answer.status >= 300) end({ reason: `HTTP ${answer.status}`, code: answer.status })
    else {
      deadline.cancel()
      const isEventStream = /^text\/event-stream\s*(;|$)/i.test(headers.get('content-type') ?? '')
      content = contentOf(body, headers.get('content-encoding') ?? '')
      content.on('end', () => end({ reason: null }))
      content.on('readable', read)
      events.opened({ isEventStream })
    }
  }

  http
    .open(plugin, withDefaults(request, lastEventId), controller.signal, connect)
    .then(opened, (error: unknown) => {
      if (error instanceof HttpFailure) end({ reason: error.message, refused: error.refused })
      else end(linkEndOf(error, 'the server'))
    })

  return {
    // Nothing is written to it.
    write: (_payload, _message, written) => written(),
    pause() {
      paused = true
    },
    resume() {
      paused = false
      read()
    },
    close: () => end({ reason: null }),
    destroy: stop,
  }
}

/** What the plugin gives wins, but for where to go on: that is from where it began. */
function withDefaults(request: HttpRequest, lastEventId: string): HttpRequest {
  const given = request.headers.filter(
    ([name]) => lastEventId === '' || name.toLowerCase() !== 'last-event-id',
  )
  const names = new Set(given.map(([name]) => name.toLowerCase()))
  const defaults: [string, string][] = [
    ['Accept', 'text/event-stream, */*'],
    ['Accept-Encoding', 'identity'],
    ['Cache-Control', 'no-cache'],
    ...(lastEventId === ''
      ? []
      : [['Last-Event-ID', Buffer.from(lastEventId).toString('latin1')] as [string, string]]),
  ]
  const missing = defaults.filter(([name]) => !names.has(name.toLowerCase()))
  return { ...request, headers: [...given, ...missing] }
}
