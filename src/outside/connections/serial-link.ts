import type { SerialPort } from 'serialport'
import { messageOf } from '../../base/problem.ts'
import { connectionMessageLimit, type SerialTarget } from '../../schema/connection.ts'
import { openSerialPort, SerialFailure } from '../serial/open-serial-port.ts'
import { createFramer } from './framing.ts'
import type { Link, LinkContext, LinkEnd, LinkEvents } from './link.ts'

/** A serial port that nobody else has. */
export function openSerial(target: SerialTarget, events: LinkEvents, { clock }: LinkContext): Link {
  const { framing, settings } = target
  let port: SerialPort | undefined
  let failure: LinkEnd | undefined
  let silent = false
  let closing = false
  /** Writes that have not gone yet. */
  let writing = 0
  let paused = false
  const message = (bytes: Uint8Array): void => {
    if (!silent && failure === undefined) events.message(bytes, { text: false })
  }
  const framer =
    framing &&
    createFramer({
      ...{ framing, clock, limit: connectionMessageLimit, frame: message },
      overlong: () =>
        fail({ reason: `${settings.path} has sent a frame of more than ${connectionMessageLimit} bytes` }),
    })

  function end(reason: LinkEnd): void {
    framer?.close()
    if (silent) return
    silent = true
    events.ended(reason)
  }

  function fail(reason: LinkEnd): void {
    failure ??= reason
    shut()
  }

  function shut(): void {
    if (port?.isOpen === true && !port.closing) port.close()
  }

  function attach(opened: SerialPort): void {
    port = opened
    opened.on('error', (error) => fail({ reason: `${settings.path}: ${error.message}` }))
    opened.once('close', (error: Error | null) => {
      const lost = error == null ? null : `${settings.path} is gone: ${error.message}`
      end(failure ?? { reason: lost })
    })
    opened.on('data', (chunk: Uint8Array) => {
      if (framer === undefined) message(chunk)
      else framer.push(chunk)
    })
    if (paused) opened.pause()
    if (silent || closing) shut()
    else events.opened()
  }

  openSerialPort(settings).then(attach, (error: unknown) =>
    end({
      reason: messageOf(error),
      refused: error instanceof SerialFailure && !error.passing,
    }),
  )

  return {
    write(payload, _message, written) {
      writing += 1
      port?.write(payload, (error) => {
        writing -= 1
        if (error == null) written()
        if (closing && writing === 0) shut()
      })
    },
    pause() {
      paused = true
      framer?.hold()
      port?.pause()
    },
    resume() {
      paused = framer?.release() === true
      if (!paused) port?.resume()
    },
    close() {
      closing = true
      if (writing === 0) shut()
    },
    destroy() {
      silent = true
      framer?.close()
      shut()
    },
  }
}
