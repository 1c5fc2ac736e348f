import type { HttpMethod } from '../../schema/outside/outside.ts'
import type { DigestCredentials } from './http-digest.ts'
import { type HttpAddress, parseHttpAddress } from './http-address.ts'

/** One request on its way: what changes from redirect to redirect. */
export interface Hop {
  address: HttpAddress
  method: HttpMethod
  headers: [name: string, value: string][]
  body: Uint8Array | undefined
  /** For the host of the first address alone. */
  digest: DigestCredentials | undefined
}

const redirectStatuses = new Set([301, 302, 303, 307, 308])
/** Meant for one host alone. */
const hostBound = new Set(['authorization', 'cookie'])
const bodyBound = /^content-/

/** Each character of a header is a byte, as it came: in an address it stands as such, whatever letters they are. */
const withEscapedBytes = (location: string): string =>
  location.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`)

/** Where an answer leads; undefined when it does not, or to something that is not http. */
export function redirectTarget(
  from: HttpAddress,
  status: number,
  location: string | undefined,
): HttpAddress | undefined {
  if (!redirectStatuses.has(status) || location === undefined) return undefined
  const target = withEscapedBytes(location)
  const absolute = parseHttpAddress(target)
  if (absolute !== undefined) return absolute
  try {
    return parseHttpAddress(new URL(target, from.origin + from.path).href)
  } catch {
    return undefined
  }
}

/** The request that follows a redirect. */
export function redirected(hop: Hop, status: number, target: HttpAddress): Hop {
  // As browsers do: what was posted is not posted again elsewhere, unless the server insists (307, 308).
  const asGet = (status === 303 && hop.method !== 'HEAD') || (status <= 302 && hop.method === 'POST')
  const crosses = !sameHost(hop.address, target)
  const keeps = (name: string): boolean =>
    !(crosses && hostBound.has(name)) && !(asGet && bodyBound.test(name))
  const authorization = target.authorization ?? (crosses ? undefined : hop.address.authorization)
  return {
    address: { ...target, authorization },
    method: asGet ? 'GET' : hop.method,
    headers: hop.headers.filter(([name]) => keeps(name.toLowerCase())),
    body: asGet ? undefined : hop.body,
    digest: crosses ? undefined : hop.digest,
  }
}

/** Host and port; the step up from http to https on the usual ports stays at home. */
function sameHost(from: HttpAddress, to: HttpAddress): boolean {
  const isUsualPort = to.host === to.hostname
  return from.origin === to.origin || (isUsualPort && from.host === to.host && to.protocol === 'https:')
}
