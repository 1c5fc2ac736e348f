import { basicAuthorization } from '../base/basic-authorization.ts'
import type { Clock } from '../base/clock.ts'
import { messageOf, systemErrorCode } from '../base/problem.ts'
import { indexFile, signatureFile } from '../schema/repository-index.ts'
import { isContainedPath } from './contained-file.ts'
import type { RepositoryLimits } from './limits.ts'
import { type Source, SourceError, type Validators } from './source.ts'

export interface HttpSourceOptions {
  clock: Clock
  limits: RepositoryLimits
  /** Sent as `User-Agent: lupine/<version>`. */
  hostVersion: string
}

/** A repository on a web server. `url` is its base: the folder that holds `plugins.json`. */
export function createHttpSource(url: string, options: HttpSourceOptions): Source {
  const { limits } = options
  const base = new URL(url)
  // `fetch` refuses credentials in an address; they go into a header, and into no message.
  const authorization = authorizationOf(base)
  base.username = ''
  base.password = ''
  base.hash = ''
  if (base.pathname.endsWith(`/${indexFile}`)) base.pathname = base.pathname.slice(0, -indexFile.length)
  if (!base.pathname.endsWith('/')) base.pathname += '/'

  function addressOf(path: string): URL {
    if (!isContainedPath(path)) throw new SourceError(`"${path}" is not a path inside the repository`)
    const address = new URL(base)
    address.pathname = base.pathname + path.split('/').map(encodeURIComponent).join('/')
    if (address.origin !== base.origin || !address.pathname.startsWith(base.pathname)) {
      throw new SourceError(`"${path}" leads out of the repository`)
    }
    return address
  }

  async function get(
    path: string,
    limit: number,
    signal: AbortSignal,
    known: Validators = {},
  ): Promise<Answer> {
    const address = addressOf(path)
    const headers = new Headers({ accept: '*/*', 'user-agent': `lupine/${options.hostVersion}` })
    if (authorization !== undefined) headers.set('authorization', authorization)
    // What is replaced in place must not come out of a cache on the way; files of plugins may.
    if (path === indexFile || path === signatureFile) headers.set('cache-control', 'no-cache')
    if (known.etag !== undefined) headers.set('if-none-match', known.etag)
    if (known.lastModified !== undefined) headers.set('if-modified-since', known.lastModified)
    return withDeadline(options, path, signal, async (deadline) => {
      const response = await follow(address, headers, limits.redirects, deadline)
      if (response.status !== 200) {
        await response.body?.cancel()
        return { status: response.status, bytes: new Uint8Array(), headers: response.headers }
      }
      return { status: 200, bytes: await readBody(response, path, limit), headers: response.headers }
    })
  }

  const display = new URL(base)
  display.search = ''

  return {
    place: display.href,
    remote: true,
    async readFile(path, limit, signal) {
      const { status, bytes } = await get(path, limit, signal)
      if (status === 404 || status === 410) return undefined
      if (status !== 200) throw new SourceError(`it answers ${status} for ${path}; ${adviceFor(status)}`)
      return bytes
    },
    async readIndex(known, signal) {
      const { status, bytes, headers } = await get(indexFile, limits.indexBytes, signal, known)
      if (status === 304 && known !== undefined) return 'unchanged'
      if (status === 404 || status === 410) {
        throw new SourceError(
          `it has no ${indexFile} (${status}); give the address of the folder that holds it`,
        )
      }
      if (status !== 200) throw new SourceError(`it answers ${status} for ${indexFile}; ${adviceFor(status)}`)
      const etag = headers.get('etag')
      const lastModified = headers.get('last-modified')
      return {
        bytes,
        validators: {
          ...(etag === null ? {} : { etag }),
          ...(lastModified === null ? {} : { lastModified }),
        },
      }
    },
  }
}

interface Answer {
  status: number
  bytes: Uint8Array
  headers: Headers
}

function authorizationOf({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined
  return basicAuthorization(username, password)
}

function adviceFor(status: number): string {
  if (status === 401 || status === 403) return 'it asks for credentials; put them into its address'
  if (status >= 500) return 'the server has a fault; try again later'
  return 'check its address'
}

/** Runs a request that ends with the deadline at the latest, and turns its failures into sentences. */
async function withDeadline<T>(
  { clock, limits }: HttpSourceOptions,
  path: string,
  signal: AbortSignal,
  request: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const abort = (): void => controller.abort(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  const seconds = limits.requestTime / 1000
  const late = new SourceError(`${path} did not arrive within ${seconds} s; try again later`)
  const deadline = clock.schedule(limits.requestTime, () => controller.abort(late))
  try {
    return await request(controller.signal)
  } catch (error) {
    if (controller.signal.aborted) throw controller.signal.reason
    throw error instanceof SourceError ? error : new SourceError(networkReason(path, error), { cause: error })
  } finally {
    deadline.cancel()
    signal.removeEventListener('abort', abort)
  }
}

const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

async function follow(
  start: URL,
  headers: Headers,
  redirects: number,
  signal: AbortSignal,
): Promise<Response> {
  let address = start
  for (let count = 0; ; count += 1) {
    const response = await fetch(address.href, { headers, redirect: 'manual', signal })
    if (!redirectStatuses.has(response.status)) return response
    await response.body?.cancel()
    if (count === redirects) throw new SourceError(`it redirects more than ${redirects} times`)
    const next = redirectTarget(response, address)
    if (next.origin !== address.origin) headers.delete('authorization')
    address = next
  }
}

function redirectTarget(response: Response, from: URL): URL {
  const location = response.headers.get('location') ?? ''
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
  if (response.body === null) return new Uint8Array()
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    size += chunk.length
    // Leaving the loop cancels the transfer.
    if (size > limit) throw new SourceError(`${path} is larger than ${limit} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, size)
}

const networkReasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing answers at its address; check that the server runs, and its port',
  ENOTFOUND: 'its host name is not known; check its address and the DNS',
  EAI_AGAIN: 'its host name cannot be looked up now; check the network',
  ENETUNREACH: 'there is no way to its network; check the network',
  EHOSTUNREACH: 'there is no way to its computer; check the network',
  ECONNRESET: 'the connection was cut off; try again later',
  ETIMEDOUT: 'its computer does not answer; check its address',
  UND_ERR_SOCKET: 'the connection ended too early; try again later',
}

function networkReason(path: string, error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  const code = systemErrorCode(cause) ?? systemErrorCode(error) ?? ''
  const reason = networkReasons[code]
  if (reason !== undefined) return reason
  if (code.includes('CERT') || code.includes('SSL') || code.includes('TLS')) {
    return `its certificate is not accepted (${code}); use one that is valid`
  }
  if (code.startsWith('HPE_') || code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') {
    return `it answers ${path} against the rules of HTTP (${code}); check the server`
  }
  const text = messageOf(cause ?? error)
  return `${path} could not be fetched (${code === '' ? text : code}); try again later`
}
