import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { scheduleDeadline } from '../../base/time/clock.ts'
import type { TcpTarget } from '../../schema/outside/connection.ts'
import { addressTimeoutWithin } from '../own-listeners.ts'
import { linkEndOf, type Link, type LinkContext, type LinkEnd, type LinkEvents } from './link.ts'
import { createIdleTimer } from './idle-timer.ts'

/** Bytes that are read and thrown away of a connection that is being closed. */
const unwantedLimit = 1024 * 1024

/** A TCP connection, with TLS if it is wanted. */
export function openTcp(
  target: TcpTarget,
  events: LinkEvents,
  { own, clock, watchDelivery }: LinkContext,
): Link {
  const { port, tls, timeout } = target
  if (tls?.insecure === false) requireCertificate(tls.certificates)
  const host = target.host.replace(/^\[|\]$/g, '')
  const options = { host, port, autoSelectFamilyAttemptTimeout: addressTimeoutWithin(timeout) }
  const serverName = tls?.serverName ?? (isIP(host) === 0 ? host : undefined)
  const socket =
    tls === undefined
      ? own.connect(options)
      : own.connectTls({
          ...options,
          rejectUnauthorized: !tls.insecure,
          ...(serverName === undefined ? {} : { servername: serverName }),
          ...(tls.certificates === undefined ? {} : { ca: tls.certificates }),
        })
  let failure: LinkEnd | undefined
  let silent = false
  /** Bytes that came after the plugin has closed it; undefined: it has not. */
  let unwanted: number | undefined
  const deadline = scheduleDeadline(clock, timeout, () => {
    failure ??= { reason: `timeout: ${host} does not answer` }
    socket.destroy()
  })
  const idleTimer = createIdleTimer(clock, target.silence, events.silence)

  socket.on('error', (error) => {
    failure ??= linkEndOf(error, host)
  })
  socket.once(tls === undefined ? 'connect' : 'secureConnect', () => {
    deadline.cancel()
    watchDelivery(socket, (what) => {
      failure ??= { reason: `${host} ${what}` }
      socket.destroy()
    })
    events.opened()
  })
  socket.on('data', (chunk: Uint8Array) => {
    if (unwanted !== undefined) {
      unwanted += chunk.byteLength
      // Its end is behind what it sends; who sends without end is not waited for.
      if (unwanted > unwantedLimit && socket.writableFinished) socket.destroy()
    } else if (!silent && failure === undefined) {
      events.message(chunk, { text: false })
      idleTimer.reset()
    }
  })
  socket.once('close', () => {
    deadline.cancel()
    idleTimer.close()
    if (!silent) events.ended(failure ?? { reason: null })
  })

  return {
    write: (payload, _message, written) =>
      void socket.write(payload, (error) => {
        if (error == null) written()
      }),
    pause() {
      idleTimer.pause()
      socket.pause()
    },
    resume() {
      idleTimer.resume()
      socket.resume()
    },
    close() {
      unwanted = 0
      idleTimer.close()
      socket.end()
    },
    destroy() {
      silent = true
      deadline.cancel()
      idleTimer.close()
      socket.destroy()
    },
  }
}

/** Node passes over what is no certificate, and then says of the other side's that nobody vouches for it. */
function requireCertificate(pem = ''): void {
  // The usual ones vouch for it.
  if (pem === '') return
  try {
    new X509Certificate(pem)
  } catch {
    throw new Error(
      'tls.ca has no certificate that can be read: it takes the text of a PEM file, -----BEGIN CERTIFICATE----- and so on',
    )
  }
}
