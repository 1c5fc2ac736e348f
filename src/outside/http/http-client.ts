import { scheduleDeadline } from '../../base/time/clock.ts'
import { createKeyedSemaphore } from '../../base/semaphore.ts'
import { bodyLimits, type HttpAnswer, type HttpRequest } from '../../schema/outside/outside.ts'
import { createHttpAgents, type Environment } from './http-agents.ts'
import { BodyError, decodeBody, readBody } from './http-body.ts'
import { type NetworkFailure, networkFailure } from '../network-error.ts'
import {
  type AnswerOpenerSettings,
  type Connect,
  createAnswerOpener,
  HttpFailure,
  type OpenAnswer,
  type AnswerOpener,
  headerValue,
} from './open-answer.ts'
import type { OwnListeners } from '../own-listeners.ts'

/** Requests of one plugin that wait for their turn; a plugin that has more has lost count. */
const requestsWaiting = 1_000
/** Why a request was cut short, when it was not cancelled. */
const tooLate = Symbol('timeout')

export interface HttpClientSettings extends Omit<AnswerOpenerSettings, 'agents'> {
  /** Where `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` are looked up. */
  environment: Environment
  /** What nothing is sent to: not by a redirect or a rewrite either. */
  own: OwnListeners
}

/** What one plugin may do. */
export interface HttpAllowance {
  /** Asked about each address as the plugin, or a redirect, names it: before another origin stands in for it. */
  connect: Connect
  /** Requests under way at one time, at least 1. */
  httpRequests: number
}

export interface HttpClient {
  /** Takes no place of the plugin's. */
  open: AnswerOpener
  /**
   * Always answers; `signal` cuts it short. So many requests of one plugin are under way as it is allowed, whatever
   * its worker thinks; the others wait, in order.
   */
  request(
    plugin: string,
    request: HttpRequest,
    signal: AbortSignal,
    allowed: HttpAllowance,
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
  const open = createAnswerOpener({ clock, agents, hostVersion, rewrite, jars })
  const places = createKeyedSemaphore(requestsWaiting)
  const controllers = new Set<AbortController>()
  const running = new Set<Promise<HttpAnswer>>()
  let closed = false

  async function exchange(...args: Parameters<AnswerOpener>): Promise<Exchange> {
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
    const timer = scheduleDeadline(clock, request.timeout, () => controller.abort(tooLate))
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

  async function inTurn(
    plugin: string,
    request: HttpRequest,
    signal: AbortSignal,
    { connect, httpRequests }: HttpAllowance,
  ): Promise<HttpAnswer> {
    const leave = await places.take(plugin, httpRequests)
    if (leave === undefined)
      return { ...failure(`too many requests are waiting: at most ${requestsWaiting}`), elapsed: 0 }
    const begun = clock.monotonic()
    try {
      const outcome = await attempt(plugin, request, signal, connect)
      return { ...outcome, elapsed: Math.round(clock.monotonic() - begun) }
    } finally {
      leave()
    }
  }

  return {
    open,
    request(plugin, request, signal, allowed) {
      const answer = inTurn(plugin, request, signal, allowed)
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

/** Answers without a body, whatever their headers say (RFC 9112, section 6.3). */
const bodiless = new Set([204, 304])
const unanswered: Exchange = { status: 0, headers: [], body: new Uint8Array() }

function failure(message: string, code: NetworkFailure['code'] = 'network'): Exchange {
  return { ...unanswered, error: { code, message } }
}

/** What came before the body counts also when the body cannot be handed over. Throws `HttpFailure`. */
async function withBody(
  { method, status, headers, body, place }: OpenAnswer,
  limit: number,
): Promise<Exchange> {
  if (bodiless.has(status)) {
    // Its length may be that of what was not sent, which undici takes for a fault.
    await readBody(body, limit).catch(() => undefined)
    return { status, headers, body: new Uint8Array() }
  }
  try {
    const bytes = await readBody(body, limit)
    if (method === 'HEAD') return { status, headers, body: bytes }
    const encoding = headerValue(headers, 'content-encoding') ?? ''
    return { status, headers, body: await decodeBody(bytes, encoding, limit) }
  } catch (error) {
    if (!(error instanceof BodyError)) throw new HttpFailure(networkFailure(error, place), { refused: false })
    const { code, message } = error
    if (code === 'network') return failure(message)
    return { status, headers, body: new Uint8Array(), error: { code, message } }
  }
}
