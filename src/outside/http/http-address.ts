import { basicAuthorization } from '../../base/network/basic-authorization.ts'

/** An address as it goes over the wire: apart from its credentials, nothing is written differently. */
export interface HttpAddress {
  protocol: 'http:' | 'https:'
  /** `https://api.example.com:8443`, the default port left out. */
  origin: string
  /** Host and port, as in the Host header. */
  host: string
  hostname: string
  /** Path and query. */
  path: string
  /** Value of the Authorization header that `user:pass@` stands for. */
  authorization: string | undefined
}

const shape = /^(https?:)\/\/([^/?#\\]*)([^#]*)/i
/** What cannot stand in a request line: control characters, blanks, everything beyond ASCII. */
const unsendable = /[^\x21-\x7e]+/gu

/**
 * Takes an absolute http or https address apart without rewriting it: `URL` would encode some characters anew
 * and resolve dots, which devices with home-made servers do not always survive. Undefined when it is none.
 */
export function parseHttpAddress(text: string): HttpAddress | undefined {
  const [, scheme = '', authority = '', rest = ''] = shape.exec(text.trim()) ?? []
  const at = authority.lastIndexOf('@')
  const place = originOf(`${scheme}//${authority.slice(at + 1)}`)
  if (place === undefined) return undefined
  const path = rest.startsWith('/') ? rest : `/${rest}`
  return {
    protocol: place.protocol === 'https:' ? 'https:' : 'http:',
    origin: place.origin,
    host: place.host,
    hostname: place.hostname,
    path: path.replace(unsendable, encodeCharacters),
    authorization: at < 0 ? undefined : authorizationOf(authority.slice(0, at)),
  }
}

function originOf(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

function authorizationOf(userInfo: string): string {
  const [user = '', ...password] = userInfo.split(':')
  return basicAuthorization(user, password.join(':'))
}

function encodeCharacters(text: string): string {
  let encoded = ''
  for (const byte of Buffer.from(text)) encoded += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  return encoded
}
