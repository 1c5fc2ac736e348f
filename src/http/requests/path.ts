import { Problem } from '../../base/problem.ts'

/** Control characters, of which NUL is the one that cuts a path short in other programs. */
const controlCharacter = /[\u0000-\u001f\u007f]/

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
