/** One event of a stream of server-sent events. */
export interface StreamEvent {
  event: string
  data: string
  /** The last id that the stream has named. */
  id?: string
}

/** Reads the lines of `text/event-stream` (HTML standard, server-sent events). */
export interface EventStreamReader {
  /** A line without its end. */
  line(bytes: Uint8Array): void
}

export interface EventStreamReaderSettings {
  /** Of an earlier connection; empty: none. */
  lastEventId: string
  /** Bytes of the data of one event. */
  limit: number
  event(event: StreamEvent): void
  /** The stream has named an id; empty: it has taken it back. */
  identified(id: string): void
  /** Milliseconds that the server wants to have between two connections. */
  retry(milliseconds: number): void
  /** An event has more data than it may; nothing more comes of this stream. */
  overlong(): void
}

export function createEventStreamReader(settings: EventStreamReaderSettings): EventStreamReader {
  const { limit } = settings
  let { lastEventId } = settings
  let type = ''
  let data: string[] = []
  let size = 0
  let isFirst = true
  let over = false

  function dispatch(): void {
    if (data.length > 0)
      settings.event({
        event: type === '' ? 'message' : type,
        data: data.join('\n'),
        ...(lastEventId === '' ? {} : { id: lastEventId }),
      })
    type = ''
    data = []
    size = 0
  }

  function field(name: string, value: string): void {
    switch (name) {
      case 'data':
        data.push(value)
        break
      case 'event':
        type = value
        break
      case 'id':
        if (value.includes('\0')) break
        lastEventId = value
        settings.identified(value)
        break
      case 'retry':
        if (/^\d{1,10}$/.test(value)) settings.retry(Number(value))
        break
    }
  }

  return {
    line(bytes) {
      if (over) return
      size += bytes.byteLength + 1
      if (size > limit) {
        over = true
        data = []
        settings.overlong()
        return
      }
      const decoded = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
      const text = isFirst ? decoded.replace(/^\ufeff/, '') : decoded
      isFirst = false
      if (text === '') {
        dispatch()
        return
      }
      const colon = text.indexOf(':')
      // A comment, with which servers keep connections alive: it is no part of an event.
      if (colon === 0) size -= bytes.byteLength + 1
      else if (colon < 0) field(text, '')
      else field(text.slice(0, colon), text.slice(colon + 1).replace(/^ /, ''))
    },
  }
}
