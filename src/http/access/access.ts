import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { isIPv4, isIPv6 } from 'node:net'
import type { ClientAddresses } from '../../base/network/client-address.ts'
import type { Clock } from '../../base/time/clock.ts'
import type { GuessLimit } from '../../base/network/guess-limit.ts'
import { isLoopback } from '../../base/network/loopback.ts'
import { Problem } from '../../base/problem.ts'
import { createSecretCheck } from '../../base/keys/secret-check.ts'
import { createSessionCookies, withoutSessions } from './session-cookie.ts'
import { createSessions } from './sessions.ts'

/** Who may call (contract, section 3). */
export interface Access {
  /** Throws `forbidden` for what a web page of somebody else could have sent, `body_invalid` without a Host. */
  checkSender(request: IncomingMessage): void
  /**
   * Throws `unauthorized` when a token is needed and neither it nor a login comes along, `forbidden` when a login
   * comes along with a change that another page may have sent, and `too_many_requests` for any token of an address
   * from which too many wrong ones came.
   */
  checkCaller(request: IncomingMessage): void
  /** Throws `unauthorized` without the host's token, `too_many_requests` as `checkCaller`; a login is none. */
  checkToken(request: IncomingMessage): void
  /**
   * The headers of a request without what would give power over this host to whoever gets them: its token, its logins.
   * Names in lower case, each once.
   */
  headersWithoutCredentials(request: IncomingMessage): [name: string, value: string][]
  /** Whether a token is needed. */
  readonly isLocked: boolean
  /** Whether `checkCaller` would let this one read. Throws `too_many_requests`. */
  isKnown(request: IncomingMessage): boolean
  /** Whether the login that it came along with has ended since. What came with the token, or needs none, goes on. */
  hasEnded(request: IncomingMessage): boolean
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
  guesses: GuessLimit
  addresses: ClientAddresses
  /** How a proxy in front is called (`HOST_PUBLIC_URL`). */
  publicUrl?: string | undefined
  /** What addresses of this host begin with there. */
  basePath: string
}

export function createAccess(settings: AccessSettings): Access {
  const { token, bind, port, secure, clock, guesses, addresses } = settings
  const cookies = createSessionCookies({ port, path: `${settings.basePath}/` })
  const publicUrl = settings.publicUrl === undefined ? undefined : new URL(settings.publicUrl)
  const isToken = token === undefined ? undefined : createSecretCheck(token)
  const sessions = createSessions(clock)
  const refusals = { login: 0, request: 0 }
  const scheme = secure ? 'https://' : 'http://'
  const boundNames = new Set(namesOfBound(bind))

  function isPublic(authority: string): boolean {
    return publicUrl !== undefined && bareAuthority(publicUrl.protocol, authority) === publicUrl.host
  }

  /** By which it was asked last: nearly all ask by the same one. */
  let lastOwn: string | undefined

  /** Whether `host:port` names this host itself: its loopback names, or the address it listens at. */
  function isThisHost(authority: string): boolean {
    if (authority === lastOwn) return true
    const isOwn = namesThisHost(authority)
    if (isOwn) lastOwn = authority
    return isOwn
  }

  function namesThisHost(authority: string): boolean {
    const [, name, digits] = /^(\[[^\]]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(authority.toLowerCase()) ?? []
    if (name === undefined || Number(digits ?? (secure ? 443 : 80)) !== port()) return false
    // As browsers write it: other spellings of an address are nobody's who means well.
    const isUsual = isIPv4(name) || name === 'localhost' || name === '[::1]'
    return (isUsual && isLoopback(name)) || boundNames.has(name)
  }

  /**
   * Whether the browser's side of the way is encrypted, by this host or a proxy. A page says so with its origin;
   * for whoever sends none, the address counts that the owner has given.
   */
  function isEncrypted({ origin, host }: IncomingHttpHeaders): boolean {
    if (secure) return true
    if (origin !== undefined) return origin.startsWith('https://')
    return publicUrl?.protocol === 'https:' && host !== undefined && !isLoopback(host.replace(/:\d+$/, ''))
  }

  function hasLogin({ cookie }: IncomingHttpHeaders): boolean {
    const id = cookies.idIn(cookie, secure)
    return id !== undefined && sessions.isOpen(id)
  }

  /** Whether it is the token. Throws `too_many_requests` for any, while its sender is cut off. */
  function checkToken(request: IncomingMessage, given: string, via: 'login' | 'request'): boolean {
    const address = addresses.ofRequest(request)
    const { host = '' } = request.headers
    const limit = mayBeOfAnyPage(host) && !isPublic(host) ? guesses.pages : guesses
    const wait = limit.cutOffLeft(address)
    if (wait > 0) throw tooMany(wait)
    if (isToken?.(given) === true) return true
    refusals[via] += 1
    limit.recordWrong(address)
    return false
  }

  /** The token itself or a login; undefined: neither. A wrong token is not made up for by a login. */
  function credentialOf(request: IncomingMessage): 'token' | 'login' | undefined {
    const { authorization } = request.headers
    if (authorization === undefined) return hasLogin(request.headers) ? 'login' : undefined
    const given = bearerOf(request.headers)
    return given !== undefined && checkToken(request, given, 'request') ? 'token' : undefined
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
      if (!isThisHost(headers.host ?? '') && !isPublic(headers.host ?? '')) {
        throw new Problem(
          'forbidden',
          'The Host header is not an address of this host. Call it by the address it listens at, or set HOST_TOKEN; behind a proxy, set HOST_PUBLIC_URL.',
        )
      }
      const { origin } = headers
      const isOwnOrigin = (given: string): boolean =>
        given === publicUrl?.origin || (given.startsWith(scheme) && isThisHost(given.slice(scheme.length)))
      if (origin !== undefined && !isOwnOrigin(origin)) {
        throw new Problem('forbidden', 'Web pages of another origin may not call this host.')
      }
      const site = headers['sec-fetch-site']
      const elsewhere = site === 'cross-site' || site === 'same-site'
      if (elsewhere && !isLinkToPage(method, url, headers)) {
        throw new Problem('forbidden', 'Web pages of another site may not call this host.')
      }
    },
    refusals,
    checkCaller(request) {
      if (isToken === undefined) return
      const { headers, method } = request
      const credential = credentialOf(request)
      if (credential === undefined) {
        throw new Problem('unauthorized', 'Send the host token as "Authorization: Bearer …", or log in.')
      }
      // A browser sends the cookie by itself; whether a page of this host asked for it, only the origin says.
      if (credential === 'login' && isChange(method, headers) && !isFromOwnPage(headers, publicUrl)) {
        throw new Problem(
          'forbidden',
          `A change with a login must come from a page of this host. ${proxyHint}`,
        )
      }
    },
    checkToken(request) {
      const given = bearerOf(request.headers)
      if (given === undefined || !checkToken(request, given, 'request')) {
        const reason =
          isToken === undefined ? 'this host has none: set HOST_TOKEN' : 'as "Authorization: Bearer …"'
        throw new Problem('unauthorized', `This address needs the token of the host; ${reason}.`)
      }
    },
    headersWithoutCredentials: ({ headers }) =>
      Object.entries(headers).flatMap(([name, value]): [string, string][] => {
        if (value === undefined) return []
        const text = Array.isArray(value) ? value.join(', ') : value
        if (name === 'authorization' && isToken?.(bearerOf(headers) ?? '') === true) return []
        if (name !== 'cookie') return [[name, text]]
        const others = withoutSessions(text)
        return others === '' ? [] : [[name, others]]
      }),
    isKnown: (request) => isToken === undefined || credentialOf(request) !== undefined,
    hasEnded: ({ headers }) =>
      isToken !== undefined && headers.authorization === undefined && !hasLogin(headers),
    logIn(request, given) {
      const { headers } = request
      if (headers.origin !== undefined && !isFromOwnPage(headers, publicUrl)) {
        throw new Problem('forbidden', `A login must come from a page of this host. ${proxyHint}`)
      }
      if (isToken === undefined) return undefined
      if (!checkToken(request, given, 'login')) {
        throw new Problem('unauthorized', 'This is not the token of the host.')
      }
      return cookies.of(sessions.open(), isEncrypted(headers))
    },
    logOut({ headers }) {
      const id = cookies.idIn(headers.cookie, secure)
      if (id !== undefined) sessions.end(id)
      return cookies.ended(isEncrypted(headers))
    },
  }
}

/** Ends of names that nobody can have on the internet. Of `arpa` whoever has addresses has the names that are written like them. */
const privateNames = ['.local', '.localhost', '.internal', '.lan', '.home', '.home.arpa']

/**
 * Whether a page from anywhere may have been loaded by this name: whoever has one on the internet may have it mean an address of
 * this host afterwards, and browsers take what the page sends then for the host's own.
 */
function mayBeOfAnyPage(authority: string): boolean {
  const name = authority.replace(/:\d*$/, '').replace(/\.$/, '').toLowerCase()
  const isPrivate = privateNames.some((end) => name.endsWith(end))
  return name.includes('.') && !isIPv4(name) && !name.startsWith('[') && !isPrivate
}

/** An address of IPv6 that is listened at as it was given, and as browsers write it: `::ffff:127.0.0.1` is `[::ffff:7f00:1]`. */
function namesOfBound(bind: string): string[] {
  if (!isIPv6(bind) || bind.includes('%')) return []
  const given = `[${bind.toLowerCase()}]`
  return [given, new URL(`http://${given}`).hostname]
}

/** Whose own page it was may be lost on the way: many proxies put their own name for the host into Host, or leave its port out. */
const proxyHint =
  'Behind a proxy, let it pass Host on as the browser sends it, port included, or set HOST_PUBLIC_URL to the address of the page.'

/** What comes along as a bearer token. */
function bearerOf({ authorization = '' }: IncomingHttpHeaders): string | undefined {
  return /^bearer +(\S+) *$/i.exec(authorization)?.[1]
}

/** `rawHeaders`: names and values in turn, as they came. */
function isRepeated(rawHeaders: readonly string[], name: string): boolean {
  return rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === name).length > 1
}

/** `wait` in milliseconds. */
function tooMany(wait: number): Problem {
  const seconds = Math.ceil(wait / 1_000)
  return new Problem(
    'too_many_requests',
    `Too many wrong tokens have come from this address; try again in ${seconds} seconds.`,
    { retryAfter: seconds },
  )
}

/** What changes something, or could: a WebSocket is asked for with GET, but goes both ways. */
function isChange(method: string | undefined, { upgrade }: IncomingHttpHeaders): boolean {
  return upgrade !== undefined || (method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS')
}

/** The page that asks has the name by which the host was called. A proxy may have taken the encryption off. */
function isFromOwnPage(
  { origin, host = '', ...headers }: IncomingHttpHeaders,
  publicUrl: URL | undefined,
): boolean {
  if (origin === undefined) return headers['sec-fetch-site'] === 'same-origin'
  if (origin === publicUrl?.origin) return true
  const [, scheme = '', authority = ''] = /^(https?):\/\/([^/]+)$/.exec(origin.toLowerCase()) ?? []
  return authority !== '' && bareAuthority(`${scheme}:`, authority) === bareAuthority(`${scheme}:`, host)
}

/** In lower case and without the scheme's own port, as `URL` has it. */
function bareAuthority(protocol: string, authority: string): string {
  const name = authority.toLowerCase()
  const standard = protocol === 'https:' ? ':443' : ':80'
  return name.endsWith(standard) ? name.slice(0, -standard.length) : name
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
