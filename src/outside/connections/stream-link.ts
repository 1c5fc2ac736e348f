import type { Duplex } from 'node:stream'
import type { Clock } from '../../base/clock.ts'
import { connectionMessageLimit, type Framing } from '../../schema/connection.ts'
import { createFramer } from './framing.ts'
import { endOf, type Link, type LinkEnd, type LinkEvents } from './link.ts'

export interface StreamLinkSettings {
  stream: Duplex
  /** The event of the stream that says that it is there. */
  opened: string
  /** Milliseconds until then. */
  timeout: number
  framing: Framing | undefined
  /** As errors call the other side. */
  place: string
  clock: Clock
  /** Why it has ended, of an error of the stream. */
  endOf?(error: unknown): LinkEnd
}

/** Bytes that are read and thrown away of a connection that is being closed. */
const unwantedLimit = 1024 * 1024

/** What a TCP connection and a serial port have in common: bytes in both directions, in frames on the way in. */
export function createStreamLink(settings: StreamLinkSettings, events: LinkEvents): Link {
  const { stream, clock, timeout, framing, place } = settings
  let failure: LinkEnd | undefined
  let silent = false
  /** Bytes that came after the plugin has closed it; undefined: it has not. */
  let unwanted: number | undefined
  const deadline = clock.schedule(timeout, () => fail({ reason: `timeout: ${place} does not answer` }))
  const message = (bytes: Uint8Array): void => {
    if (!silent && failure === undefined) events.message(bytes, { text: false })
  }
  const framer =
    framing &&
    createFramer({
      ...{ framing, clock, limit: connectionMessageLimit, frame: message },
      overlong: () =>
        fail({ reason: `${place} has sent a frame of more than ${connectionMessageLimit} bytes` }),
    })

  function fail(end: LinkEnd): void {
    failure ??= end
    stream.destroy()
  }

  stream.on('error', (error) => {
    failure ??= (settings.endOf ?? ((reason) => endOf(reason, place)))(error)
  })
  stream.once(settings.opened, () => {
    deadline.cancel()
    events.opened()
  })
  stream.on('data', (chunk: Uint8Array) => {
    if (unwanted !== undefined) {
      unwanted += chunk.byteLength
      // Its end is behind what it sends; who sends without end is not waited for.
      if (unwanted > unwantedLimit && stream.writableFinished) stream.destroy()
    } else if (framer === undefined) message(chunk)
    else framer.push(chunk)
  })
  stream.once('close', () => {
    deadline.cancel()
    framer?.flush()
    framer?.close()
    if (!silent) events.ended(failure ?? { reason: null })
  })

  return {
    write: (payload, _message, written) =>
      void stream.write(payload, (error) => {
        if (error == null) written()
      }),
    pause() {
      framer?.hold()
      stream.pause()
    },
    resume() {
      if (framer?.release() !== true) stream.resume()
    },
    close() {
      unwanted = 0
      framer?.close()
      stream.end()
    },
    destroy() {
      silent = true
      deadline.cancel()
      framer?.close()
      stream.destroy()
    },
  }
}
