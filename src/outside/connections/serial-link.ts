import type { SerialPort } from 'serialport'
import { messageOf } from '../../base/problem.ts'
import type { SerialTarget } from '../../schema/outside/connection.ts'
import { openSerialPort, SerialFailure } from '../serial/open-serial-port.ts'
import type { Link, LinkContext, LinkEnd, LinkEvents } from './link.ts'
import { createIdleTimer } from './idle-timer.ts'

/** A serial port that nobody else has. */
export function openSerial(
  target: SerialTarget,
  events: LinkEvents,
  { clock }: Pick<LinkContext, 'clock'>,
): Link {
  const { settings } = target
  let port: SerialPort | undefined
  let failure: LinkEnd | undefined
  let silent = false
  let closing = false
  /** Writes that have not gone yet. */
  let writing = 0
  let paused = false
  const idleTimer = createIdleTimer(clock, target.silence, events.silence)

  function end(reason: LinkEnd): void {
    idleTimer.close()
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
      if (silent || failure !== undefined) return
      events.message(chunk, { text: false })
      idleTimer.reset()
    })
    if (paused) opened.pause()
    if (silent || closing) shut()
    else events.opened()
  }

  openSerialPort(settings).then(attach, (error: unknown) =>
    end({
      reason: messageOf(error),
      refused: error instanceof SerialFailure && !error.isTransient,
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
      idleTimer.pause()
      port?.pause()
    },
    resume() {
      paused = false
      idleTimer.resume()
      port?.resume()
    },
    close() {
      closing = true
      if (writing === 0) shut()
    },
    destroy() {
      silent = true
      idleTimer.close()
      shut()
    },
  }
}
