import type { Duplex } from 'node:stream'
import type { Clock } from '../../base/time/clock.ts'
import { endOf, type Link, type LinkEnd, type LinkEvents } from './link.ts'
import { createSilence } from './silence.ts'

export interface StreamLinkSettings {
  stream: Duplex
  /** The event of the stream that says that it is there. */
  opened: string
  /** Milliseconds until then. */
  timeout: number
  /** Milliseconds without a byte that are told; undefined: none are. */
  silence: number | undefined
  /** As errors call the other side. */
  place: string
  clock: Clock
  /** Why it has ended, of an error of the stream. */
  endOf?(error: unknown): LinkEnd
}

/** Bytes that are read and thrown away of a connection that is being closed. */
const unwantedLimit = 1024 * 1024

/** What a TCP connection and a serial port have in common: bytes in both directions. */
export function createStreamLink(settings: StreamLinkSettings, events: LinkEvents): Link {
  const { stream, clock, timeout, place } = settings
  let failure: LinkEnd | undefined
  let silent = false
  /** Bytes that came after the plugin has closed it; undefined: it has not. */
  let unwanted: number | undefined
  const deadline = clock.schedule(timeout, () => fail({ reason: `timeout: ${place} does not answer` }))
  const silence = createSilence(clock, settings.silence, events.silence)

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
    } else if (!silent && failure === undefined) {
      events.message(chunk, { text: false })
      silence.broken()
    }
  })
  stream.once('close', () => {
    deadline.cancel()
    silence.close()
    if (!silent) events.ended(failure ?? { reason: null })
  })

  return {
    write: (payload, _message, written) =>
      void stream.write(payload, (error) => {
        if (error == null) written()
      }),
    pause() {
      silence.pause()
      stream.pause()
    },
    resume() {
      silence.resume()
      stream.resume()
    },
    close() {
      unwanted = 0
      silence.close()
      stream.end()
    },
    destroy() {
      silent = true
      deadline.cancel()
      silence.close()
      stream.destroy()
    },
  }
}
