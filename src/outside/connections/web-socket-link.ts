import type { IncomingMessage } from 'node:http'
import { isIP, type Socket } from 'node:net'
import { WebSocket } from 'ws'
import { type ScheduledCall, scheduleDeadline } from '../../base/time/clock.ts'
import {
  connectionMessageLimit,
  connectTimeout,
  type WebSocketTarget,
} from '../../schema/outside/connection.ts'
import { isGeneratedHeader } from '../../schema/outside/generated-headers.ts'
import { interimLimit, tooManyInterim } from '../http/open-answer.ts'
import { closingTime, linkEndOf, type Link, type LinkContext, type LinkEnd, type LinkEvents } from './link.ts'
import { parseWebSocketUrl } from './web-socket-address.ts'

/** The code of a connection that ended without a word (RFC 6455, section 7.4.1). */
const abnormalClosure = 1006
const normalClosure = 1000
/** Pongs of one second. Few are asked for, and what nobody has asked for is allowed, and reaches no plugin that could slow it down. */
export const pongLimit = 1_000

/** A WebSocket without compression: what is small on the wire would not be small here. */
export function openWebSocket(
  target: WebSocketTarget,
  events: LinkEvents,
  {
    own,
    clock,
    watchDelivery,
    hostVersion,
  }: Pick<LinkContext, 'own' | 'clock' | 'watchDelivery' | 'hostVersion'>,
): Link {
  const address = parseWebSocketUrl(target.url)
  if (address === undefined) throw new Error('the address of a WebSocket begins with ws:// or wss://')
  const { url, host, port } = address
  const bareHost = host.replace(/^\[|\]$/g, '')
  // Nobody listens yet to the socket that a refusal would be an error of.
  const refusal = own.refusal(bareHost, port)
  if (refusal !== undefined) throw refusal
  const headers: Record<string, string[]> = {}
  for (const [name, value] of target.headers)
    if (!isGeneratedHeader(name, value)) (headers[name.toLowerCase()] ??= []).push(value)
  headers['user-agent'] ??= [`lupine/${hostVersion}`]

  const options = { host: bareHost, port }
  const openSocket = (): Socket => {
    const opened =
      url.protocol === 'ws:'
        ? own.connect(options)
        : own.connectTls({
            ...options,
            ...(isIP(bareHost) === 0 ? { servername: bareHost } : {}),
            rejectUnauthorized: !target.insecure,
          })
    watchDelivery(opened, (what) => giveUp(`${host} ${what}`))
    return opened
  }

  function giveUp(reason: string): void {
    failure ??= { reason, code: abnormalClosure }
    socket.terminate()
  }

  const socket = new WebSocket(url, target.protocols, {
    headers: headers as Record<string, string[]> & Record<string, string>,
    createConnection: openSocket as never,
    perMessageDeflate: false,
    maxPayload: connectionMessageLimit,
    finishRequest(request) {
      let interim = 0
      request.on('information', () => {
        interim += 1
        if (interim > interimLimit) giveUp(tooManyInterim(host))
      })
      request.end()
    },
    // Its types do not know it.
    ...{ closeTimeout: closingTime },
  })
  let failure: LinkEnd | undefined
  let silent = false
  let awaitsPong = false
  let ping: ScheduledCall | undefined
  let pongs = 0
  let countedSince = clock.monotonic()
  // The library's own limit counts from the last byte, and is the socket's, which is made here.
  const deadline = scheduleDeadline(clock, connectTimeout, () => giveUp(`timeout: ${host} does not answer`))

  function beat(): void {
    if (target.ping === undefined) return
    ping = scheduleDeadline(clock, target.ping, () => {
      if (awaitsPong && !socket.isPaused) {
        giveUp(`${host} does not answer pings`)
        return
      }
      awaitsPong = !socket.isPaused
      socket.ping()
      beat()
    })
  }

  socket.on('open', () => {
    deadline.cancel()
    beat()
    events.opened()
  })
  socket.on('pong', () => {
    awaitsPong = false
    if (clock.monotonic() - countedSince >= 1_000) {
      countedSince = clock.monotonic()
      pongs = 0
    }
    pongs += 1
    if (pongs > pongLimit) giveUp(`${host} has sent more than ${pongLimit} pongs in a second`)
  })
  socket.on('message', (data: Buffer, isBinary) => events.message(data, { text: !isBinary }))
  socket.on('unexpected-response', (_request, response: IncomingMessage) => {
    giveUp(`${host} answered HTTP ${response.statusCode ?? 0}`)
  })
  socket.on('error', (error) => {
    const end = linkEndOf(error, host)
    failure ??= { ...end, code: abnormalClosure }
  })
  socket.on('close', (code, reason) => {
    deadline.cancel()
    ping?.cancel()
    if (silent) return
    const said = reason.toString()
    events.ended(failure === undefined ? { reason: said === '' ? null : said, code } : failure)
  })

  return {
    write: (payload, { text }, written) =>
      socket.send(payload, { binary: !text }, (error) => {
        if (error == null) written()
      }),
    pause() {
      // The pong that it waits for may be among what nobody reads now.
      awaitsPong = false
      socket.pause()
    },
    resume: () => socket.resume(),
    close: () => socket.close(normalClosure),
    destroy() {
      silent = true
      deadline.cancel()
      ping?.cancel()
      socket.terminate()
    },
  }
}
