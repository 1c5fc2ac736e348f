import { Problem } from '../../base/problem.ts'

/** Control characters, of which NUL is the one that cuts a path short in other programs. */
const controlCharacter = /[\u0000-\u001f\u007f]/

/**
 * The target of a request without the name of the host, which some proxies send along (RFC 9112, 3.2.2). As it is where that
 * name is not the one in the Host header: who may call goes by that header, and whoever reads both must not see two hosts.
 */
export function originForm(target: string, host: string | undefined): string {
  if (target.startsWith('/')) return target
  const [whole, authority] = /^https?:\/\/([^/?#]+)/i.exec(target) ?? []
  if (whole === undefined || authority?.toLowerCase() !== host?.toLowerCase()) return target
  const rest = target.slice(whole.length)
  return rest.startsWith('/') ? rest : `/${rest}`
}

/**
 * Brings a path into the one form that the routes know: a full plugin id in two segments
 * (`/api/plugins/@ns/short/config`) becomes one (`/api/plugins/%40ns%2Fshort/config`). Throws `body_invalid`
 * for an address that cannot be decoded.
 */
export function canonicalPath(path: string): string {
  for (const segment of path.split('/')) checkSegment(segment)
  const [, prefix, first, second, rest] = /^(\/(?:api\/)?plugins)\/([^/]+)\/([^/]+)(\/.*)?$/.exec(path) ?? []
  if (prefix === undefined || first === undefined || second === undefined) return path
  const namespace = decodeURIComponent(first)
  if (!namespace.startsWith('@') || namespace.includes('/')) return path
  return `${prefix}/${encodeURIComponent(`${namespace}/${decodeURIComponent(second)}`)}${rest ?? ''}`
}

function checkSegment(segment: string): void {
  let text: string
  try {
    text = decodeURIComponent(segment)
  } catch {
    throw new Problem('body_invalid', 'The address has a % that does not begin a UTF-8 percent-encoding.')
  }
  if (controlCharacter.test(text)) {
    throw new Problem('body_invalid', 'The address has a control character in it.')
  }
}
