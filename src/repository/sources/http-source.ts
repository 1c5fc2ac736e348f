import { basicAuthorization } from '../../base/network/basic-authorization.ts'
import { quoted } from '../../base/text/cut-text.ts'
import type { Clock } from '../../base/time/clock.ts'
import { indexFile, signatureFile } from '../../schema/manifest/repository-index.ts'
import { isContainedPath } from './contained-file.ts'
import { withFetchDeadline } from './fetch-deadline.ts'
import { createHttpGet, type Network, type Response, systemNetwork } from './http-get.ts'
import type { RepositoryLimits } from '../limits.ts'
import { fetchFailureReason } from './fetch-failure.ts'
import { type Source, SourceError, type Validators } from './source.ts'

export interface HttpSourceOptions {
  clock: Clock
  limits: RepositoryLimits
  /** Sent as `User-Agent: lupine/<version>`. */
  hostVersion: string
  /** Default: the system's. */
  network?: Network | undefined
}

/** A repository on a web server. `url` is its base: the folder that holds `plugins.json`. */
export function createHttpSource(url: string, options: HttpSourceOptions): Source {
  const { clock, limits } = options
  const base = new URL(url)
  // They go into a header, and into no message.
  const authorization = authorizationOf(base)
  base.username = ''
  base.password = ''
  base.hash = ''
  if (base.pathname.endsWith(`/${indexFile}`)) base.pathname = base.pathname.slice(0, -indexFile.length)
  if (!base.pathname.endsWith('/')) base.pathname += '/'

  const network = options.network ?? systemNetwork
  const httpGet = createHttpGet(network)
  /** Where the repository is, as its index was read; its files have to be there, too. */
  let home: 'internet' | 'local' | undefined

  function addressOf(path: string): URL {
    if (!isContainedPath(path)) throw new SourceError(`"${path}" is not a path inside the repository`)
    const address = new URL(base)
    address.pathname = base.pathname + path.split('/').map(encodeURIComponent).join('/')
    return address
  }

  async function get(
    path: string,
    { limit, signal, vouched = false, known = {} }: GetFileOptions,
  ): Promise<Answer> {
    const address = addressOf(path)
    const headers: Record<string, string> = { accept: '*/*', 'user-agent': `lupine/${options.hostVersion}` }
    if (authorization !== undefined) headers.authorization = authorization
    // What is replaced in place must not come out of a cache on the way; files of plugins may.
    if (path === indexFile || path === signatureFile) headers['cache-control'] = 'no-cache'
    if (known.etag !== undefined) headers['if-none-match'] = known.etag
    if (known.lastModified !== undefined) headers['if-modified-since'] = known.lastModified
    const time = { clock, time: limits.requestTime, outer: [signal] }
    try {
      return await withFetchDeadline(time, path, async (deadline) => {
        const response = await follow(address, headers, path, vouched, deadline)
        if (response.status !== 200) {
          response.body.destroy()
          return { status: response.status, bytes: new Uint8Array(), headers: response.headers }
        }
        if (response.unknownEncoding !== undefined) {
          response.body.destroy()
          throw unknownEncoding(path, response.unknownEncoding)
        }
        return { status: 200, bytes: await readBody(response, path, limit), headers: response.headers }
      })
    } catch (error) {
      if (error instanceof SourceError || error === signal.reason) throw error
      throw new SourceError(fetchFailureReason(path, error, clock.now()), { cause: error })
    }
  }

  /**
   * Follows redirects: to another origin only for what the index vouches for, and not from the internet into a
   * local network. Who is where is seen by the address that is connected to.
   */
  async function follow(
    start: URL,
    given: Record<string, string>,
    path: string,
    vouched: boolean,
    signal: AbortSignal,
  ): Promise<Response> {
    let address = start
    let headers = given
    // An index may have moved. What is fetched at the same time is of the one that was read before.
    let place = path === indexFile ? undefined : home
    for (let count = 0; ; count += 1) {
      const here = address
      const refuse = (found: string): Error | undefined =>
        place === 'internet' && !network.isPublic(found) ? intoLocalNetwork(here, count > 0) : undefined
      const response = await httpGet(address, { headers, signal, refuse })
      place ??= response.public ? 'internet' : 'local'
      if (path === indexFile) home = place
      if (!redirectStatuses.has(response.status)) return response
      response.body.destroy()
      if (count === limits.redirects)
        throw new SourceError(`it redirects more than ${limits.redirects} times`)
      const next = redirectTarget(response, address)
      if (!vouched && !isSameSite(base, next)) throw unvouched(path, next)
      if (next.origin !== address.origin) {
        const { authorization: _, ...others } = headers
        headers = others
      }
      address = next
    }
  }

  const display = new URL(base)
  display.search = ''

  return {
    place: display.href,
    remote: true,
    async readFile(path, limit, signal, vouched) {
      const { status, bytes } = await get(path, { limit, signal, vouched })
      if (status === 404 || status === 410) return undefined
      if (status !== 200) throw new SourceError(`it answers ${status} for ${path}; ${adviceFor(status)}`)
      return bytes
    },
    async readIndex(known, signal) {
      const { status, bytes, headers } = await get(indexFile, { limit: limits.indexBytes, signal, known })
      if (status === 304 && known !== undefined) return 'unchanged'
      if (status === 404 || status === 410) {
        throw new SourceError(
          `it has no ${indexFile} (${status}); give the address of the folder that holds it`,
        )
      }
      if (status !== 200) throw new SourceError(`it answers ${status} for ${indexFile}; ${adviceFor(status)}`)
      const { etag, 'last-modified': lastModified } = headers
      // By the time alone a server takes one of the same second, or an older one that was put back, for unchanged.
      if (etag === undefined) return { bytes, validators: {} }
      return { bytes, validators: { etag, ...(lastModified === undefined ? {} : { lastModified }) } }
    },
  }
}

interface GetFileOptions {
  limit: number
  signal: AbortSignal
  /** Whether its content is known beforehand, so that it does not matter who gives it. */
  vouched?: boolean | undefined
  known?: Validators | undefined
}

interface Answer {
  status: number
  bytes: Uint8Array
  headers: Response['headers']
}

function authorizationOf({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined
  return basicAuthorization(username, password)
}

function adviceFor(status: number): string {
  if (status === 401 || status === 403) return 'it asks for credentials; put them into its address'
  if (status === 429) return 'it is asked too often; try again later'
  if (status >= 500) return 'the server has a fault; try again later'
  return 'check its address'
}

const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** The same host: the step up from http to https on the usual ports stays at home. */
function isSameSite(base: URL, { origin, protocol, host }: URL): boolean {
  return origin === base.origin || (protocol === 'https:' && base.port === '' && host === base.host)
}

function unvouched(path: string, next: URL): SourceError {
  const advice =
    path === indexFile || path === signatureFile
      ? 'give the address that it leads to'
      : `the index has no sha256 of that file, so nobody vouches for what comes from there; tell its maintainer: "lupine sign" fills it in`
  return new SourceError(`it redirects ${path} to another server, ${next.origin}; ${advice}`)
}

function unknownEncoding(path: string, encoding: string): SourceError {
  return new SourceError(
    `it sends ${path} with the Content-Encoding ${quoted(encoding)}, which was not asked for; set the server to send its files as they are, or with one of gzip, deflate and br`,
  )
}

function intoLocalNetwork({ host }: URL, redirected: boolean): SourceError {
  return new SourceError(
    redirected
      ? `it redirects to ${host}, which is in a local network or on this machine; a repository on the internet may not lead there`
      : `its host name leads into a local network or to this machine now, but its index came from the internet; try again later, or check its address`,
  )
}

function redirectTarget(response: Response, from: URL): URL {
  const location = response.headers.location ?? ''
  if (location === '' || !URL.canParse(location, from.href)) {
    throw new SourceError('it redirects to an address that is none')
  }
  const next = new URL(location, from.href)
  if (next.protocol !== 'https:' && next.protocol !== from.protocol) {
    throw new SourceError(`it redirects from ${from.protocol} to ${next.protocol}, which is not followed`)
  }
  if (next.username !== '' || next.password !== '') {
    throw new SourceError('it redirects to an address with credentials, which is not followed')
  }
  return next
}

/** Goes by the bytes that come, not by the `Content-Length` that was promised. */
async function readBody(response: Response, path: string, limit: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    size += chunk.length
    // Leaving the loop cancels the transfer.
    if (size > limit) throw new SourceError(`${path} is larger than ${limit} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, size)
}
