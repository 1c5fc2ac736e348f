import { createHash } from 'node:crypto'
import { type Respond, startWebServer, type WebServer } from '../web-server.ts'

/** A web server that wants digest authentication (RFC 7616), and checks it by its own reading of the standard. */

export const digestUser = { user: 'Mufasa', password: 'Circle of "Life"' }

export interface DigestOptions {
  /** What is offered, in this order. */
  algorithms?: ('MD5' | 'SHA-256' | 'SHA-512-256')[]
  /** Without it the answer is that of RFC 2069. */
  qop?: string
  /** Who may come in; default: `digestUser`. */
  user?: { user: string; password: string }
  /** What it calls itself. */
  realm?: string
  /** How often a right answer is told that its nonce is too old. */
  stale?: number
}

const md = (algorithm: string, text: string): string =>
  createHash(algorithm === 'SHA-256' ? 'sha256' : 'md5')
    .update(text, 'latin1')
    .digest('hex')

/** UTF-8 as headers have it here: each byte is a character. */
const onTheWire = (text: string): string => Buffer.from(text).toString('latin1')

export function startDigestServer(
  options: DigestOptions = {},
  protectedAnswer?: Respond,
): Promise<WebServer> {
  const { algorithms = ['MD5'], qop = 'auth,auth-int' } = options
  const [realm, user, password] = [
    options.realm ?? 'home, sweet',
    (options.user ?? digestUser).user,
    (options.user ?? digestUser).password,
  ].map(onTheWire)
  let stale = options.stale ?? 0
  let last = 0
  let nonce = ''

  function challenge(isStale: boolean): string[] {
    last += 1
    nonce = `nonce-${last}`
    const more = `${qop === '' ? '' : `, qop="${qop}"`}${isStale ? ', stale=TRUE' : ''}, opaque="a, b=\\"c\\""`
    return [
      'Basic realm="the other way"',
      ...algorithms.map((name) => `Digest realm="${realm}", nonce="${nonce}", algorithm=${name}${more}`),
    ]
  }

  function isRight(header: string, method: string, target: string): boolean {
    const field = (name: string): string => {
      const [, quoted, plain = ''] =
        new RegExp(`[ ,]${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^ ,]+))`).exec(header) ?? []
      return quoted?.replace(/\\(.)/g, '$1') ?? plain
    }
    const algorithm = field('algorithm')
    if (!header.startsWith('Digest ') || field('nonce') !== nonce || field('uri') !== target) return false
    if (field('opaque') !== 'a, b="c"' || field('username') !== user) return false
    const secret = md(algorithm, `${user}:${realm}:${password}`)
    const asked = md(algorithm, `${method}:${target}`)
    if (qop === '') return field('response') === md(algorithm, `${secret}:${nonce}:${asked}`)
    const parts = [secret, nonce, field('nc'), field('cnonce'), field('qop'), asked]
    return field('qop') === 'auth' && field('response') === md(algorithm, parts.join(':'))
  }

  return startWebServer((seen, response, request) => {
    const right = isRight(seen.headers.authorization ?? '', seen.method, seen.target)
    if (right && stale <= 0) {
      if (protectedAnswer !== undefined) protectedAnswer(seen, response, request)
      else response.end(`in: ${seen.body}`)
      return
    }
    if (right) stale -= 1
    response.writeHead(401, { 'WWW-Authenticate': challenge(right) }).end('who are you?')
  })
}
