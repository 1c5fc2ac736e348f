import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Middleware } from 'koa'
import type { Clock } from '../../base/time/clock.ts'
import type { Logger } from '../../base/log/log.ts'
import { Problem, type ProblemDocument, problemDocument } from '../../base/problem.ts'
import { securityLines } from '../../base/network/security-headers.ts'
import { loggedPath } from '../hooks/hook-address.ts'
import { isStillSending, lingeringAnswer } from '../requests/body.ts'

export const problemType = 'application/problem+json'

/** Turns whatever a request throws into problem details (RFC 9457), and notes how each request ended. */
export function createProblemAnswers({ clock, logger }: { clock: Clock; logger: Logger }): Middleware {
  return async (context, next) => {
    const start = clock.monotonic()
    // Before a route rewrites it; without the query, which may hold what is not for a log.
    const instance = context.originalUrl.split('?', 1)[0] ?? ''
    try {
      await next()
    } catch (error) {
      if (context.headerSent) {
        logger.warn('An answer broke off', { path: loggedPath(instance), error })
        context.res.destroy()
        return
      }
      const document = problemDocument(error, instance)
      if (!(error instanceof Problem)) {
        const cause = error instanceof Error ? error.stack : String(error)
        logger.error('A request failed', { method: context.method, path: loggedPath(instance), error: cause })
      }
      const text = JSON.stringify(document)
      context.status = document.status
      context.set('Content-Type', problemType)
      if (document.code === 'unauthorized') context.set('WWW-Authenticate', 'Bearer realm="lupine"')
      if (error instanceof Problem && error.retryAfter !== undefined) {
        context.set('Retry-After', String(error.retryAfter))
      }
      if (isStillSending(context.req)) {
        context.set('Connection', 'close')
        context.body = lingeringAnswer(context.req, text, clock)
        context.length = Buffer.byteLength(text)
      } else {
        context.body = text
      }
    }
    logger.debug('request', {
      method: context.method,
      path: loggedPath(instance),
      status: context.status,
      ms: Math.round(clock.monotonic() - start),
    })
  }
}

/** How long, in milliseconds, the other side of a refused connection has to read why, and to end it. */
const farewellTime = 1_000

/**
 * Ends a connection that never became a request with an answer that says why. Who does not end it as well, or has vanished, is
 * cut off: it would keep its file descriptor.
 */
export function refuseConnection(socket: Duplex, document: ProblemDocument, clock: Clock): void {
  const body = JSON.stringify(document)
  const deadline = clock.schedule(farewellTime, () => socket.destroy())
  socket.on('close', () => deadline.cancel())
  socket.on('error', () => socket.destroy())
  socket.end(
    `HTTP/1.1 ${document.status} ${STATUS_CODES[document.status] ?? ''}\r\n` +
      `Content-Type: ${problemType}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `${securityLines}Connection: close\r\n\r\n${body}`,
  )
}
