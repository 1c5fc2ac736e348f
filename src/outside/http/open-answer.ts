import { validateHeaderName, validateHeaderValue } from 'node:http'
import type { Dispatcher } from 'undici'
import { quoted } from '../../base/text/cut-text.ts'
import type { Clock } from '../../base/time/clock.ts'
import { portOf } from '../../base/network/url-port.ts'
import type { HttpAnswer, HttpRequest } from '../../schema/outside/outside.ts'
import { fits, textLimits } from '../../schema/parsing/text.ts'
import { isGeneratedHeader } from '../../schema/outside/generated-headers.ts'
import { type HttpAddress, parseHttpAddress } from './http-address.ts'
import type { HttpAgents } from './http-agents.ts'
import { type CookieJars } from './cookie-jars.ts'
import { digestAuthorization, digestChallenge } from './http-digest.ts'
import { acceptedEncodings } from './http-body.ts'
import { type Hop, redirected, redirectTarget } from './http-redirect.ts'
import { type NetworkFailure, networkFailure } from '../network-error.ts'
import { isRefusal } from '../own-listeners.ts'

/** Redirects that one request follows. */
const redirectLimit = 10
/** Bytes of a redirect's body that are read to keep the connection; with more it is given up. */
const redirectBodyLimit = 64 * 1024
/** Milliseconds that it may take; some servers announce one that never comes. */
const redirectBodyTime = 1_000
/** Answers before the answer (1xx): a server that says every 20 seconds that it is at work may do so for hours. */
export const interimLimit = 1_000
/** RFC 9110, section 9.2.1. */
const safeMethods = new Set<HttpRequest['method']>(['GET', 'HEAD'])

/** Why a plugin may not connect there, in a sentence; undefined: it may. */
export type Connect = (host: string, port: number) => string | undefined

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

/**
 * Asks, follows and logs in until there is an answer that is none of these, and leaves the body to the caller. Rejects
 * with `HttpFailure`, and with anything once `signal` says so.
 */
export type AnswerOpener = (
  plugin: string,
  request: HttpRequest,
  signal: AbortSignal,
  connect: Connect,
) => Promise<OpenAnswer>

export interface AnswerOpenerSettings {
  clock: Clock
  agents: HttpAgents
  /** Sent as `User-Agent: lupine/<version>`. */
  hostVersion: string
  /** Origins that are answered by another one: a replacement, or a proxy of its own. */
  rewrite: Readonly<Record<string, string>>
  /** For requests that ask for it. */
  jars: CookieJars
}

export function createAnswerOpener({
  clock,
  agents,
  hostVersion,
  rewrite,
  jars,
}: AnswerOpenerSettings): AnswerOpener {
  /** The place that answers for this address. */
  function replacementFor(address: HttpAddress): HttpAddress {
    const origin = rewrite[address.origin]
    const place = origin === undefined ? undefined : parseHttpAddress(origin)
    return place === undefined ? address : { ...place, path: address.path }
  }

  /** Headers of one hop, flat; what the plugin gave wins over what is generated. */
  function headersOf(hop: Hop, wire: HttpAddress, cookie: string | undefined): string[] {
    const given = hop.headers.filter(([name, value]) => !isGeneratedHeader(name, value))
    for (const [name, value] of given) requireHeader(name, value)
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
    const agent = await agents.agentFor(wire, insecure, signal)
    let interim = 0
    const request = (): Promise<Dispatcher.ResponseData> =>
      agent.request({
        origin: wire.origin,
        path: wire.path,
        method: hop.method,
        headers: headersOf(hop, wire, cookie),
        body: hop.body ?? null,
        signal,
        // What is thrown here ends the request with its connection.
        onInfo() {
          interim += 1
          if (interim > interimLimit) throw new Error(tooManyInterim(wire.host))
        },
        // The whole request has a limit already.
        headersTimeout: 0,
        bodyTimeout: 0,
      })
    try {
      return await request()
    } catch (error) {
      // What changes nothing may be asked twice. Of anything else nobody knows whether it was done.
      if (signal.aborted || !safeMethods.has(hop.method) || !agents.wasStale(error)) throw error
      return request()
    }
  }

  /** Passes over the body of an answer that another one follows, to have its connection for that one. */
  async function passOver(
    { body }: Dispatcher.ResponseData,
    headers: HttpAnswer['headers'],
    signal: AbortSignal,
  ) {
    const hasEnd = ['content-length', 'transfer-encoding'].some(
      (name) => headerValue(headers, name) !== undefined,
    )
    // It goes on until the connection ends, which the server may leave to us.
    if (!hasEnd) body.destroy()
    const timer = clock.schedule(redirectBodyTime, () => body.destroy())
    try {
      await body.dump({ limit: redirectBodyLimit, signal })
    } finally {
      timer.cancel()
    }
  }

  return async (plugin, request, signal, connect) => {
    const address = parseHttpAddress(request.url)
    if (address === undefined) throw failed('the url must be absolute and start with http:// or https://')
    const { method, headers: given, body, digest, insecure } = request
    let hop: Hop = { address, method, headers: given, body, digest }

    /** One request and the head of its answer; with digest authentication as often as that takes. */
    async function ask(wire: HttpAddress) {
      // The answer to a challenge is for this address alone: a server may refuse it for one that it leads to.
      let asking = hop
      for (let challenges = 0; ; challenges += 1) {
        const cookie = request.cookies === true ? jars.header(plugin, hop.address) : undefined
        const response = await send(asking, wire, insecure, cookie, signal)
        const headers = flatHeaders(response.headers)
        if (request.cookies === true) jars.save(plugin, hop.address, valuesOf(headers, 'set-cookie'))
        const challenge =
          response.statusCode === 401 && hop.digest !== undefined
            ? digestChallenge(headerValue(headers, 'www-authenticate') ?? '')
            : undefined
        // Whoever refuses the right answer to a fresh nonce will refuse it again.
        const again = challenge !== undefined && (challenges === 0 || (challenges === 1 && challenge.stale))
        if (!again || hop.digest === undefined) return { response, headers }
        await passOver(response, headers, signal)
        const authorization = digestAuthorization(challenge, hop.digest, {
          method: hop.method,
          path: wire.path,
        })
        const others = hop.headers.filter(([name]) => name.toLowerCase() !== 'authorization')
        asking = { ...hop, headers: [...others, ['authorization', authorization]] }
      }
    }

    try {
      for (let followed = 0; ; followed += 1) {
        if (!fits(hop.address.hostname, textLimits.hostName))
          throw failed(`the host name has more than ${textLimits.hostName} bytes`)
        const refusal = connect(hop.address.hostname, portOf(hop.address.origin))
        if (refusal !== undefined) throw failed(refusal)
        const wire = replacementFor(hop.address)
        const { response, headers } = await ask(wire)
        const status = response.statusCode
        const target = redirectTarget(hop.address, status, headerValue(headers, 'location'))
        if (target === undefined)
          return { method: hop.method, status, headers, body: response.body, place: hop.address.host }
        await passOver(response, headers, signal)
        if (followed === redirectLimit)
          throw new HttpFailure(
            { code: 'network', message: `more than ${redirectLimit} redirects` },
            { refused: false },
          )
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
}

export const tooManyInterim = (host: string): string =>
  `${host} has sent more than ${interimLimit} interim answers (1xx)`

/** Its value is not told: it may be a secret. */
function requireHeader(name: string, value: string): void {
  let part = 'name'
  try {
    validateHeaderName(name)
    part = 'value'
    validateHeaderValue(name, value)
  } catch {
    throw failed(`the header ${quoted(name)} has a ${part} with characters that HTTP does not allow there`)
  }
}

function failed(message: string): HttpFailure {
  return new HttpFailure({ code: 'network', message }, { refused: true })
}

function valuesOf(headers: HttpAnswer['headers'], name: string): string[] {
  return headers.filter(([key]) => key === name).map(([, value]) => value)
}

export function headerValue(headers: HttpAnswer['headers'], name: string): string | undefined {
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
