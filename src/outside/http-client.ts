import type { Dispatcher } from 'undici'
import type { Clock } from '../base/clock.ts'
import { messageOf } from '../base/problem.ts'
import { isGeneratedHeader } from '../schema/generated-headers.ts'
import { bodyLimits, type HttpAnswer, type HttpRequest } from '../schema/outside.ts'
import { fits, textLimits } from '../schema/text.ts'
import { defaultPluginLimits } from '../schema/plugin-limits.ts'
import { type HttpAddress, parseHttpAddress, portOf } from './http-address.ts'
import { createHttpAgents, type Environment } from './http-agents.ts'
import { type CookieJars } from './cookie-jars.ts'
import { digestAuthorization, digestChallenge } from './http-digest.ts'
import { acceptedEncodings, BodyError, decodeBody, readBody } from './http-body.ts'
import { type Hop, redirected, redirectTarget } from './http-redirect.ts'
import { createConcurrencyLimiter } from './concurrency-limiter.ts'
import { type NetworkFailure, networkFailure } from './network-error.ts'
import { isRefusal, type OwnListeners } from './own-listeners.ts'

/** Requests of one plugin that wait for their turn; a plugin that has more has lost count. */
export const requestsWaiting = 1_000
/** Redirects that one request follows. */
export const redirectLimit = 10
/** Bytes of a redirect's body that are read to keep the connection; with more it is given up. */
const redirectBodyLimit = 64 * 1024

/** Why a request was cut short, when it was not cancelled. */
const tooLate = Symbol('timeout')

export interface HttpClientSettings {
  clock: Clock
  /** Sent as `User-Agent: lupine/<version>`. */
  hostVersion: string
  /** Where `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` are looked up. */
  environment: Environment
  /** Origins that are answered by another one: a replacement, or a proxy of its own. */
  rewrite: Readonly<Record<string, string>>
  /** What nothing is sent to: not by a redirect or a rewrite either. */
  own: OwnListeners
  /** For requests that ask for it. */
  jars: CookieJars
}

/** Why a plugin may not connect there, in a sentence; undefined: it may. */
export type Connect = (host: string, port: number) => string | undefined

/** What one plugin may do. */
export interface HttpAllowance {
  /** Asked about each address as the plugin, or a redirect, names it: before another origin stands in for it. */
  connect: Connect
  /** Requests under way at one time, at least 1. */
  httpRequests: number
}

const anywhere: HttpAllowance = {
  connect: () => undefined,
  httpRequests: defaultPluginLimits.httpRequests,
}

/** The head of an answer whose body is still to come. */
export interface OpenAnswer extends Pick<HttpAnswer, 'status' | 'headers'> {
  /** By which it was asked for at last. */
  method: HttpRequest['method']
  body: Dispatcher.ResponseData['body']
  /** The host that answers, as errors call it. */
  place: string
}

/** Why there is no answer. */
export class HttpFailure extends Error {
  override readonly name = 'HttpFailure'
  readonly failure: NetworkFailure
  /** Another attempt would end in the same way: it may not, or it cannot be an address. */
  readonly refused: boolean

  constructor(failure: NetworkFailure, { refused }: { refused: boolean }) {
    super(failure.message)
    this.failure = failure
    this.refused = refused
  }
}

export interface HttpClient {
  /**
   * Asks, follows and logs in until there is an answer that is none of these, and leaves the body to the caller. It
   * takes no place of the plugin's. Rejects with `HttpFailure`, and with anything once `signal` says so.
   */
  open(plugin: string, request: HttpRequest, signal: AbortSignal, connect: Connect): Promise<OpenAnswer>
  /**
   * Always answers; `signal` cuts it short. So many requests of one plugin are under way as it is allowed, whatever
   * its worker thinks; the others wait, in order. Without `allowed`: anywhere, and as many as by default.
   */
  request(
    plugin: string,
    request: HttpRequest,
    signal: AbortSignal,
    allowed?: HttpAllowance,
  ): Promise<HttpAnswer>
  /** Cuts everything short. */
  close(): Promise<void>
}

/** Makes the HTTP requests of all plugins. */
export function createHttpClient({
  clock,
  hostVersion,
  environment,
  rewrite,
  own,
  jars,
}: HttpClientSettings): HttpClient {
  const agents = createHttpAgents(environment, own)
  const limiter = createConcurrencyLimiter({ waiting: requestsWaiting })
  const controllers = new Set<AbortController>()
  const running = new Set<Promise<HttpAnswer>>()
  let closed = false

  /** The place that answers for this address. */
  function replacementFor(address: HttpAddress): HttpAddress {
    const origin = rewrite[address.origin]
    const place = origin === undefined ? undefined : parseHttpAddress(origin)
    return place === undefined ? address : { ...place, path: address.path }
  }

  /** Headers of one hop, flat; what the plugin gave wins over what is generated. */
  function headersOf(hop: Hop, wire: HttpAddress, cookie: string | undefined): string[] {
    const given = hop.headers.filter(([name, value]) => !isGeneratedHeader(name, value))
    const names = new Set(given.map(([name]) => name.toLowerCase()))
    const generated: Record<string, string | undefined> = {
      'user-agent': `lupine/${hostVersion}`,
      accept: '*/*',
      'accept-encoding': acceptedEncodings,
      authorization: hop.address.authorization,
      cookie,
      // One replacement can serve for several hosts.
      'x-forwarded-host': wire.origin === hop.address.origin ? undefined : hop.address.host,
    }
    const missing = Object.entries(generated).flatMap(([name, value]) =>
      value === undefined || names.has(name) ? [] : [name, value],
    )
    return [...given.flat(), ...missing]
  }

  async function send(
    hop: Hop,
    wire: HttpAddress,
    insecure: boolean,
    cookie: string | undefined,
    signal: AbortSignal,
  ) {
    const agent = await agents.agentFor(wire, insecure)
    return agent.request({
      origin: wire.origin,
      path: wire.path,
      method: hop.method,
      headers: headersOf(hop, wire, cookie),
      body: hop.body ?? null,
      signal,
      // The whole request has a limit already.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }

  const open: HttpClient['open'] = async (plugin, request, signal, connect) => {
    const address = parseHttpAddress(request.url)
    if (address === undefined) throw failed('the url must be absolute and start with http:// or https://')
    const { method, headers: given, body, digest, insecure } = request
    let hop: Hop = { address, method, headers: given, body, digest }

    /** One request and the head of its answer; with digest authentication as often as that takes. */
    async function ask(wire: HttpAddress) {
      for (let challenges = 0; ; challenges += 1) {
        const cookie = request.cookies === true ? jars.header(plugin, hop.address) : undefined
        const response = await send(hop, wire, insecure, cookie, signal)
        const headers = flatHeaders(response.headers)
        if (request.cookies === true) jars.save(plugin, hop.address, valuesOf(headers, 'set-cookie'))
        const challenge =
          response.statusCode === 401 && hop.digest !== undefined
            ? digestChallenge(valueOf(headers, 'www-authenticate') ?? '')
            : undefined
        // Whoever refuses the right answer to a fresh nonce will refuse it again.
        const again = challenge !== undefined && (challenges === 0 || (challenges === 1 && challenge.stale))
        if (!again || hop.digest === undefined) return { response, headers }
        await response.body.dump({ limit: redirectBodyLimit, signal })
        const authorization = digestAuthorization(challenge, hop.digest, {
          method: hop.method,
          path: wire.path,
        })
        const others = hop.headers.filter(([name]) => name.toLowerCase() !== 'authorization')
        hop = { ...hop, headers: [...others, ['authorization', authorization]] }
      }
    }

    try {
      for (let followed = 0; ; followed += 1) {
        if (!fits(hop.address.hostname, textLimits.hostName))
          throw failed(`the host name has more than ${textLimits.hostName} bytes`)
        const refusal = connect(hop.address.hostname, portOf(hop.address))
        if (refusal !== undefined) throw failed(refusal)
        const wire = replacementFor(hop.address)
        const { response, headers } = await ask(wire)
        const status = response.statusCode
        const target = redirectTarget(hop.address, status, valueOf(headers, 'location'))
        if (target === undefined)
          return { method: hop.method, status, headers, body: response.body, place: hop.address.host }
        await response.body.dump({ limit: redirectBodyLimit, signal })
        if (followed === redirectLimit) throw failed(`more than ${redirectLimit} redirects`)
        // A replacement may name itself where the place it stands for would name itself.
        const { path, authorization } = target
        const meant = target.origin === wire.origin ? { ...hop.address, path, authorization } : target
        hop = redirected(hop, status, meant)
      }
    } catch (error) {
      if (signal.aborted || error instanceof HttpFailure) throw error
      throw new HttpFailure(networkFailure(error, hop.address.host), { refused: isRefusal(error) })
    }
  }

  async function exchange(...args: Parameters<HttpClient['open']>): Promise<Exchange> {
    const [, request, signal] = args
    try {
      return await withBody(await open(...args), request.maxBody ?? bodyLimits.default)
    } catch (error) {
      if (signal.aborted || !(error instanceof HttpFailure)) throw error
      return { ...unanswered, error: error.failure }
    }
  }

  async function attempt(
    plugin: string,
    request: HttpRequest,
    cancelled: AbortSignal,
    connect: Connect,
  ): Promise<Exchange> {
    if (cancelled.aborted || closed) return failure('the request was cancelled')
    const controller = new AbortController()
    const cancel = (): void => controller.abort()
    cancelled.addEventListener('abort', cancel, { once: true })
    controllers.add(controller)
    const timer = clock.schedule(request.timeout, () => controller.abort(tooLate))
    try {
      return await exchange(plugin, request, controller.signal, connect)
    } catch {
      return controller.signal.reason === tooLate
        ? failure(`timeout after ${request.timeout} ms`, 'timeout')
        : failure('the request was cancelled')
    } finally {
      timer.cancel()
      controllers.delete(controller)
      cancelled.removeEventListener('abort', cancel)
    }
  }

  async function timed(
    plugin: string,
    request: HttpRequest,
    signal: AbortSignal,
    connect: Connect,
  ): Promise<HttpAnswer> {
    const begun = clock.monotonic()
    const outcome = await attempt(plugin, request, signal, connect)
    return { ...outcome, elapsed: Math.round(clock.monotonic() - begun) }
  }

  return {
    open,
    request(plugin, request, signal, { connect, httpRequests } = anywhere) {
      const answer = limiter
        .run(plugin, httpRequests, () => timed(plugin, request, signal, connect))
        .catch((error: unknown): HttpAnswer => ({ ...failure(messageOf(error)), elapsed: 0 }))
      running.add(answer)
      void answer.then(() => running.delete(answer))
      return answer
    },
    async close() {
      closed = true
      for (const controller of controllers) controller.abort()
      await Promise.all(running)
      await agents.close()
    },
  }
}

type Exchange = Omit<HttpAnswer, 'elapsed'>

function failed(message: string): HttpFailure {
  return new HttpFailure({ code: 'network', message }, { refused: true })
}

const unanswered: Exchange = { status: 0, headers: [], body: new Uint8Array() }

function failure(message: string, code: NetworkFailure['code'] = 'network'): Exchange {
  return { ...unanswered, error: { code, message } }
}

/** What came before the body counts also when the body cannot be handed over. Throws `HttpFailure`. */
async function withBody(
  { method, status, headers, body, place }: OpenAnswer,
  limit: number,
): Promise<Exchange> {
  try {
    const bytes = await readBody(body, limit)
    if (method === 'HEAD') return { status, headers, body: bytes }
    const encoding = valueOf(headers, 'content-encoding') ?? ''
    return { status, headers, body: await decodeBody(bytes, encoding, limit) }
  } catch (error) {
    if (!(error instanceof BodyError)) throw new HttpFailure(networkFailure(error, place), { refused: false })
    const { code, message } = error
    if (code === 'network') return failure(message)
    return { status, headers, body: new Uint8Array(), error: { code, message } }
  }
}

function valuesOf(headers: HttpAnswer['headers'], name: string): string[] {
  return headers.filter(([key]) => key === name).map(([, value]) => value)
}

function valueOf(headers: HttpAnswer['headers'], name: string): string | undefined {
  return headers.find(([key]) => key === name)?.[1]
}

function flatHeaders(headers: Record<string, string | string[] | undefined>): HttpAnswer['headers'] {
  return Object.entries(headers).flatMap(([given, value]): HttpAnswer['headers'] => {
    const name = given.toLowerCase()
    // A date in it may have a comma.
    if (name === 'set-cookie') return [value ?? []].flat().map((one) => [name, one])
    return [[name, Array.isArray(value) ? value.join(', ') : (value ?? '')]]
  })
}
