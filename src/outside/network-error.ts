import { maxHeaderSize } from 'node:http'
import { certificateClockHint } from '../base/network/certificate-clock-hint.ts'
import { tlsErrorMessage } from '../base/network/tls-error-message.ts'
import { systemClock } from '../base/time/clock.ts'
import { messageOf, systemErrorCode } from '../base/problem.ts'

export interface NetworkFailure {
  code: 'timeout' | 'network'
  message: string
}

const untrusted = /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|CERT_|ERR_TLS_CERT_)/

/** What went wrong on the way to `host`, in words; the system's own name for it stays, for those who search. */
export function networkFailure(error: unknown, host: string, now = systemClock.now()): NetworkFailure {
  const code = systemErrorCode(error) ?? ''
  const network = (words: string): NetworkFailure => ({
    code: 'network',
    message: code === '' ? words : `${words} (${code})`,
  })
  switch (code) {
    case 'UND_ERR_CONNECT_TIMEOUT':
    case 'ETIMEDOUT':
      return { code: 'timeout', message: `timeout: ${host} does not answer (${code})` }
    case 'ECONNREFUSED':
      return network(`connection refused by ${host}`)
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return network(`host not found: ${host}`)
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return network(`no way to ${host}`)
    case 'ECONNRESET':
    case 'EPIPE':
    case 'UND_ERR_SOCKET':
      // So undici calls a 100 to a request that did not expect one, and then it is undici that closes.
      if (messageOf(error) === 'bad response')
        return network(`${host} answered 100 Continue, which was not asked for`)
      return network(`${host} closed the connection before the answer was complete`)
    case 'UND_ERR_HEADERS_OVERFLOW':
    case 'HPE_HEADER_OVERFLOW':
      return network(`the headers of what ${host} answers have more than ${maxHeaderSize / 1024} KiB`)
  }
  const tls = tlsErrorMessage(messageOf(error), host)
  if (tls !== undefined) return network(tls)
  if (untrusted.test(code)) {
    const doubt = code === 'CERT_NOT_YET_VALID' ? certificateClockHint(messageOf(error), now) : undefined
    const why = [messageOf(error), ...(doubt === undefined ? [] : [doubt])].join('; ')
    return network(`the certificate of ${host} is not trusted: ${why}`)
  }
  return network(messageOf(error) || `the request to ${host} failed`)
}

/** Why a UDP socket cannot be opened at a port. */
export function bindFailure(error: unknown, port: number | undefined): string {
  const code = systemErrorCode(error)
  if (code === 'EADDRINUSE') return `port ${port} is in use (${code})`
  if (code === 'EACCES') return `port ${port} is not for this host to open (${code})`
  return messageOf(error)
}
