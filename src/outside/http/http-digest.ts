import { createHash, randomBytes } from 'node:crypto'

/** Digest access authentication (RFC 7616), MD5 and SHA-256 with qop auth; also without qop, as RFC 2069 had it. Pure. */

export interface DigestCredentials {
  user: string
  password: string
}

/** What a server asks for. */
export interface DigestChallenge {
  realm: string
  nonce: string
  algorithm: 'MD5' | 'SHA-256'
  opaque: string | undefined
  /** Whether `auth` is offered. */
  qop: boolean
  /** Only the nonce was too old. */
  stale: boolean
}

const hashes = { MD5: 'md5', 'SHA-256': 'sha256' } as const
const parameter = /([a-zA-Z][\w-]*)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/y
const scheme = /([a-zA-Z][\w-]*)(?=\s+[a-zA-Z][\w-]*\s*=)/y

const word = /[\w-]+/y

/** The strongest challenge of a `WWW-Authenticate` header that can be answered; undefined when there is none. */
export function digestChallenge(header: string): DigestChallenge | undefined {
  const found = challengesIn(header).flatMap((fields): DigestChallenge[] => {
    const { realm, nonce, algorithm = 'MD5', qop, opaque, stale } = fields
    const known = (['SHA-256', 'MD5'] as const).find((name) => name === algorithm.toUpperCase())
    if (realm === undefined || nonce === undefined || known === undefined) return []
    const offered = qop?.split(',').map((word) => word.trim().toLowerCase())
    if (offered !== undefined && !offered.includes('auth')) return []
    return [
      {
        ...{ realm, nonce, algorithm: known, opaque, qop: offered !== undefined },
        stale: stale?.toLowerCase() === 'true',
      },
    ]
  })
  return found.find(({ algorithm }) => algorithm === 'SHA-256') ?? found[0]
}

/** Parameters of each challenge of the scheme Digest, names in lower case. */
function challengesIn(header: string): Record<string, string>[] {
  const challenges: Record<string, string>[] = []
  let current: Record<string, string> | undefined
  for (let at = 0; at < header.length;) {
    scheme.lastIndex = at
    const named = scheme.exec(header)
    if (named !== null) {
      current = named[1]?.toLowerCase() === 'digest' ? {} : undefined
      if (current !== undefined) challenges.push(current)
      at = scheme.lastIndex
      continue
    }
    parameter.lastIndex = at
    const [, name, quoted, plain = ''] = parameter.exec(header) ?? []
    if (name === undefined) at += wordAt(header, at)
    else {
      if (current !== undefined) current[name.toLowerCase()] = quoted?.replace(/\\(.)/g, '$1') ?? plain
      at = parameter.lastIndex
    }
  }
  return challenges
}

/** Characters of the word that begins here, one for anything else: what is no parameter is passed over as a whole. */
function wordAt(text: string, at: number): number {
  word.lastIndex = at
  return word.exec(text)?.[0].length ?? 1
}

/** UTF-8, of which each byte is a character: so headers come and go, and the realm is in whatever the server has. */
const wireText = (text: string): string => Buffer.from(text).toString('latin1')

/** The value of `Authorization` that answers it. */
export function digestAuthorization(
  challenge: DigestChallenge,
  { user, password }: DigestCredentials,
  { method, path }: { method: string; path: string },
): string {
  const { realm, nonce, algorithm, opaque, qop } = challenge
  const hash = (text: string): string => createHash(hashes[algorithm]).update(text, 'latin1').digest('hex')
  const count = '00000001'
  const cnonce = randomBytes(16).toString('hex')
  const secret = hash(`${wireText(user)}:${realm}:${wireText(password)}`)
  const request = hash(`${method}:${path}`)
  const response = qop
    ? hash(`${secret}:${nonce}:${count}:${cnonce}:auth:${request}`)
    : hash(`${secret}:${nonce}:${request}`)
  const quoted = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`
  return [
    `Digest username=${quoted(wireText(user))}`,
    `realm=${quoted(realm)}`,
    `nonce=${quoted(nonce)}`,
    `uri=${quoted(path)}`,
    `algorithm=${algorithm}`,
    `response="${response}"`,
    ...(qop ? ['qop=auth', `nc=${count}`, `cnonce="${cnonce}"`] : []),
    ...(opaque === undefined ? [] : [`opaque=${quoted(opaque)}`]),
  ].join(', ')
}
