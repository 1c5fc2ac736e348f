import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Clock } from '../base/clock.ts'
import { isLoopback } from '../base/loopback.ts'
import { Problem } from '../base/problem.ts'
import { createSecretCheck } from '../base/secret-check.ts'
import { createLoginLimit, wrongTokensAllowed } from './login-limit.ts'
import { endedCookie, sessionCookie, sessionIn } from './session-cookie.ts'
import { createSessions } from './sessions.ts'

/** Who may call (contract, section 3). */
export interface Access {
  /** Throws `forbidden` for what a web page of somebody else could have sent, `body_invalid` without a Host. */
  checkSender(request: IncomingMessage): void
  /**
   * Throws `unauthorized` when a token is needed and neither it nor a login comes along, and `forbidden` when
   * a login comes along with a change that another page may have sent.
   */
  checkCaller(request: IncomingMessage): void
  /** Whether a token is needed. */
  readonly isLocked: boolean
  /** Whether `checkCaller` would let this one read. */
  isKnown(request: IncomingMessage): boolean
  /**
   * Answers the cookie that stands for the token; undefined when none is needed. Throws `unauthorized`,
   * `forbidden`, `too_many_requests`.
   */
  logIn(request: IncomingMessage, token: string): string | undefined
  /** Answers the cookie that takes the other's place. */
  logOut(request: IncomingMessage): string
  /** Wrong tokens since the start. */
  readonly refusals: { readonly login: number; readonly request: number }
}

export interface AccessSettings {
  token: string | undefined
  bind: string
  /** The port that is listened at; known only after the start. */
  port: () => number
  /** Connections are encrypted. */
  secure: boolean
  clock: Clock
}

export function createAccess({ token, bind, port, secure, clock }: AccessSettings): Access {
  const isToken = token === undefined ? undefined : createSecretCheck(token)
  const sessions = createSessions(clock)
  const limit = createLoginLimit(clock)
  const guesses = createLoginLimit(clock, wrongTokensAllowed)
  const refusals = { login: 0, request: 0 }
  const scheme = secure ? 'https://' : 'http://'

  /** Whether `host:port` names this host: its loopback names, or the address it listens at. */
  function isThisHost(authority: string): boolean {
    const [, name, digits] = /^(\[[^\]]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(authority.toLowerCase()) ?? []
    if (name === undefined || Number(digits ?? (secure ? 443 : 80)) !== port()) return false
    return isLoopback(name) || name === bind.toLowerCase() || name === `[${bind.toLowerCase()}]`
  }

  function hasLogin({ cookie }: IncomingHttpHeaders): boolean {
    const id = sessionIn(cookie, port(), secure)
    return id !== undefined && sessions.isOpen(id)
  }

  /** The token itself or a login; undefined: neither. A wrong token is not made up for by a login. */
  function credentialOf(headers: IncomingHttpHeaders): 'token' | 'login' | undefined {
    const { authorization } = headers
    if (authorization === undefined) return hasLogin(headers) ? 'login' : undefined
    const [, given] = /^bearer +(\S+) *$/i.exec(authorization) ?? []
    return given !== undefined && isToken?.(given) === true ? 'token' : undefined
  }

  /** Throws `too_many_requests` when there have been too many from this address. */
  function noteGuess(address: string): void {
    refusals.request += 1
    const wait = guesses.wait(address)
    guesses.failed(address)
    if (wait > 0) throw tooMany(wait)
  }

  return {
    isLocked: isToken !== undefined,
    checkSender({ headers, rawHeaders, method, httpVersion, url = '' }) {
      if (headers.host === undefined && httpVersion === '1.1') {
        throw new Problem('body_invalid', 'A request of HTTP/1.1 must have a Host header.')
      }
      // Which of them counts is a matter of taste, and a proxy may have another one.
      if (isRepeated(rawHeaders, 'host') || isRepeated(rawHeaders, 'origin')) {
        throw new Problem('body_invalid', 'A request may have one Host header and one Origin header.')
      }
      // A token cannot be guessed by a page elsewhere, and with one the host may have any name.
      if (token !== undefined) return
      if (!isThisHost(headers.host ?? '')) {
        throw new Problem(
          'forbidden',
          'The Host header is not an address of this host. Call it by the address it listens at, or set HOST_TOKEN.',
        )
      }
      const { origin } = headers
      if (origin !== undefined && !(origin.startsWith(scheme) && isThisHost(origin.slice(scheme.length)))) {
        throw new Problem('forbidden', 'Web pages of another origin may not call this host.')
      }
      const site = headers['sec-fetch-site']
      const elsewhere = site === 'cross-site' || site === 'same-site'
      if (elsewhere && !isLinkToPage(method, url, headers)) {
        throw new Problem('forbidden', 'Web pages of another site may not call this host.')
      }
    },
    refusals,
    checkCaller({ headers, method, socket }) {
      if (isToken === undefined) return
      const credential = credentialOf(headers)
      if (credential === undefined) {
        if (headers.authorization !== undefined) noteGuess(socket.remoteAddress ?? '')
        throw new Problem('unauthorized', 'Send the host token as "Authorization: Bearer …", or log in.')
      }
      // A browser sends the cookie by itself; whether a page of this host asked for it, only the origin says.
      if (credential === 'login' && isChange(method, headers) && !isFromOwnPage(headers)) {
        throw new Problem('forbidden', 'A change with a login must come from a page of this host.')
      }
    },
    isKnown: ({ headers }) => isToken === undefined || credentialOf(headers) !== undefined,
    logIn({ headers, socket }, given) {
      if (headers.origin !== undefined && !isFromOwnPage(headers)) {
        throw new Problem('forbidden', 'A login must come from a page of this host.')
      }
      if (isToken === undefined) return undefined
      const address = socket.remoteAddress ?? ''
      const wait = limit.wait(address)
      if (wait > 0) {
        throw tooMany(wait)
      }
      if (!isToken(given)) {
        limit.failed(address)
        refusals.login += 1
        throw new Problem('unauthorized', 'This is not the token of the host.')
      }
      limit.succeeded(address)
      return sessionCookie(port(), secure, sessions.open())
    },
    logOut({ headers }) {
      const id = sessionIn(headers.cookie, port(), secure)
      if (id !== undefined) sessions.end(id)
      return endedCookie(port(), secure)
    },
  }
}

/** `rawHeaders`: names and values in turn, as they came. */
function isRepeated(rawHeaders: readonly string[], name: string): boolean {
  return rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === name).length > 1
}

/** `wait` in milliseconds. */
function tooMany(wait: number): Problem {
  const minutes = Math.ceil(wait / 60_000)
  return new Problem(
    'too_many_requests',
    `Too many wrong tokens have come from this address; try again in ${minutes} minutes.`,
  )
}

/** What changes something, or could: a WebSocket is asked for with GET, but goes both ways. */
function isChange(method: string | undefined, { upgrade }: IncomingHttpHeaders): boolean {
  return upgrade !== undefined || (method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS')
}

/** The page that asks has the name by which the host was called. A proxy may have taken the encryption off. */
function isFromOwnPage({ origin, host = '', ...headers }: IncomingHttpHeaders): boolean {
  if (origin === undefined) return headers['sec-fetch-site'] === 'same-origin'
  const [, scheme = '', authority = ''] = /^(https?):\/\/([^/]+)$/.exec(origin.toLowerCase()) ?? []
  const standard = scheme === 'https' ? ':443' : ':80'
  const bare = (name: string): string => (name.endsWith(standard) ? name.slice(0, -standard.length) : name)
  return authority !== '' && bare(authority) === bare(host.toLowerCase())
}

/** Somebody followed a link from another site to a page of the user interface: harmless, as it only shows. */
function isLinkToPage(method: string | undefined, url: string, headers: IncomingHttpHeaders): boolean {
  return (
    method === 'GET' &&
    headers['sec-fetch-mode'] === 'navigate' &&
    headers['sec-fetch-dest'] === 'document' &&
    !url.startsWith('/api/')
  )
}
