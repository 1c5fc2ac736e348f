import { isEventId } from '../../../../schema/outside/connection-limits.ts'
import { toUnicode } from '../../lua/text/bytes.ts'

/** One event of a stream of server-sent events. */
export interface StreamEvent {
  event: string
  data: string
  /** The last id that the stream has named. */
  id?: string
}

/** Where a stream is to go on. */
export interface StreamPosition {
  /** Empty: it has named none, or has taken it back. */
  lastEventId: string
  /** Milliseconds that the server wants to have between two connections. */
  wait: number
}

/** Reads the lines of `text/event-stream` (HTML standard, server-sent events). */
export interface EventStreamReader {
  /** A line without its end. Answers the event that ends with it, if one does. */
  line(bytes: Uint8Array): StreamEvent | undefined
  /** An event has more data than it may; nothing more comes of this stream. */
  readonly isOverlong: boolean
}

/** `position` goes along with what the stream says. `limit`: bytes of the data of one event. */
export function createEventStreamReader(position: StreamPosition, limit: number): EventStreamReader {
  let type = ''
  let data: string[] = []
  let size = 0
  let isFirst = true
  let isOverlong = false
  let { lastEventId } = position

  function dispatch(): StreamEvent | undefined {
    // Not before: an event of which the end is missing has not been told, and has to come again.
    position.lastEventId = lastEventId
    const event =
      data.length === 0
        ? undefined
        : {
            event: type === '' ? 'message' : type,
            data: data.join('\n'),
            ...(lastEventId === '' ? {} : { id: lastEventId }),
          }
    type = ''
    data = []
    size = 0
    return event
  }

  function field(name: string, value: string): void {
    if (name === 'data') data.push(value)
    else if (name === 'event') type = value
    else if (name === 'id') {
      if (isEventId(value)) lastEventId = value
    } else if (name === 'retry' && /^\d{1,10}$/.test(value)) position.wait = Number(value)
  }

  return {
    line(bytes) {
      if (isOverlong) return undefined
      size += bytes.byteLength + 1
      if (size > limit) {
        isOverlong = true
        data = []
        return undefined
      }
      const decoded = toUnicode(bytes)
      const text = isFirst ? decoded.replace(/^\ufeff/, '') : decoded
      isFirst = false
      if (text === '') return dispatch()
      const colon = text.indexOf(':')
      // A comment, with which servers keep connections alive: it is no part of an event.
      if (colon === 0) size -= bytes.byteLength + 1
      else if (colon < 0) field(text, '')
      else field(text.slice(0, colon), text.slice(colon + 1).replace(/^ /, ''))
      return undefined
    },
    get isOverlong() {
      return isOverlong
    },
  }
}
