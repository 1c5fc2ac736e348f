import { once } from 'node:events'
import type { Context, Middleware } from 'koa'
import type { ClientAddresses } from '../../base/network/client-address.ts'
import { type Clock, withDeadline } from '../../base/time/clock.ts'
import { freeMemory } from '../../base/memory/free-memory.ts'
import { Problem } from '../../base/problem.ts'
import type { LifecycleFacade } from '../../lifecycle/facade.ts'
import type { FoundHook } from '../../lifecycle/lifecycle.ts'
import { hookAnswerTime, type HookOutcome, isHookAnswerHeader } from '../../schema/outside/hook.ts'
import type { Access } from '../access/access.ts'
import type { StartGate } from '../requests/start-gate.ts'
import { hookTargetOf } from './hook-address.ts'
import { createHookBodies } from './hook-body.ts'
import { createHookAdmission } from './hook-admission.ts'
import { createTurnLimiter } from '../../base/turn-limiter.ts'

/** Milliseconds that the other side may take to read an answer: 5 MiB over a poor line. */
const readingTime = 30_000

/** Over all plugins, answers that are written in one turn of the event loop: one may have megabytes. */
const answersInTurn = 2
/** Why a signal says that a request is over. Without a reason V8 makes an error for each one, with its stack. */
const over = 'over'

/** What metrics and the description of the API call these addresses. */
export const hookRoute = '/hooks/:namespace/:plugin/:path'

/**
 * On top of what every answer has. A page of a plugin's comes from the origin of the host's own pages; as one in a
 * sandbox it has an origin of its own, and can neither script nor ask the host with the reader's login.
 */
const sandboxed = {
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'Content-Security-Policy': "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:",
}

export interface HookRequestSettings {
  lifecycle: Pick<LifecycleFacade, 'findHook'>
  access: Pick<Access, 'checkToken' | 'headersWithoutCredentials'>
  addresses: ClientAddresses
  clock: Clock
  gate: StartGate
  /** As `createWarner` makes it. */
  warn(message: string): void
}

/** Answers requests from outside by the handlers of plugins (contract, section 3: `/hooks/…`). */
export function createHookRequests(settings: HookRequestSettings): Middleware {
  const { lifecycle, access, addresses, clock, gate, warn } = settings
  const admission = createHookAdmission(clock)
  const bodies = createHookBodies(clock, admission)
  const passTurn = createTurnLimiter(answersInTurn)

  /** Throws `not_found`: nobody learns whether there is such a plugin, or how much of an address was right. */
  async function hookOf(context: Context): Promise<FoundHook> {
    const target = hookTargetOf(context.req.url ?? '')
    // Until the host knows what it has, it cannot say that there is nothing. A handler is no command.
    await gate.pass('GET')
    const hook = target && (await lifecycle.findHook(target.namespace, target.shortId, target.rest))
    if (hook === undefined) throw new Problem('not_found', 'No plugin answers at this address.')
    return hook
  }

  function checkMethod(context: Context, { methods }: FoundHook): void {
    if (methods === undefined || methods.includes(context.method)) return
    const allowed = methods.join(', ')
    context.set('Allow', allowed)
    throw new Problem('method_not_allowed', `This address takes ${allowed}.`)
  }

  /** Lets a request in and reads its body; `leaves` gets how to give back what it has. */
  async function admit(context: Context, plugin: string, gone: AbortSignal, leaves: (() => void)[]) {
    try {
      leaves.push(admission.enter(plugin, bodies.refuseSlowest))
      // Before it has a place to be handled: a body that comes slowly holds nobody up.
      const { bytes, leave } = await bodies.read(plugin, context.req, gone)
      leaves.push(leave)
      leaves.push(await admission.take(plugin, gone))
      return bytes
    } catch (error) {
      // Only whoever is refused hears of it otherwise, and that is a stranger.
      if (error instanceof Problem && error.code === 'hook_unavailable' && !gone.aborted)
        warn(
          `Requests from outside for ${plugin} are refused (503): too many are under way, because whoever sends them or its ` +
            'handler takes long, or because there are so many',
        )
      throw error
    }
  }

  /** Has the handler answer in time; `done` resolves when the plugin is done with it in any case. */
  function ask(context: Context, hook: FoundHook, body: Uint8Array<ArrayBuffer>, gone: AbortSignal) {
    const { req } = context
    const enough = new AbortController()
    const giveUp = (): void => enough.abort(over)
    gone.addEventListener('abort', giveUp, { once: true })
    const done = hook.take(
      {
        method: context.method,
        query: context.querystring,
        headers: access.headersWithoutCredentials(req),
        body,
        remote: addresses.ofRequest(req),
      },
      enough.signal,
    )
    const late = (): Problem =>
      new Problem('hook_timeout', `The plugin did not answer within ${hookAnswerTime / 1_000} s.`)
    const outcome = withDeadline(clock, hookAnswerTime, done, late).finally(() => {
      gone.removeEventListener('abort', giveUp)
      enough.abort(over)
    })
    return { outcome, done }
  }

  function send(context: Context, outcome: HookOutcome): void {
    if (!outcome.ok && outcome.reason === 'failed')
      throw new Problem(
        'hook_failed',
        "The plugin's handler failed, or answered what cannot be sent; the plugin's log says why.",
      )
    if (!outcome.ok)
      throw new Problem('hook_unavailable', 'The plugin has ended meanwhile; try again later.', {
        retryAfter: 1,
      })
    const { status, headers, body } = outcome
    context.status = status
    const several = new Map<string, string[]>()
    // It comes from a worker, which may have been taken over.
    for (const [name, value] of headers)
      if (isHookAnswerHeader(name)) several.set(name, [...(several.get(name) ?? []), value])
    for (const [name, values] of several) context.set(name, values)
    context.body = body === undefined ? null : Buffer.from(body.buffer, body.byteOffset, body.byteLength)
    // It has been handed to the system by then. A connection that breaks off leaves it to the garbage collector.
    if (body !== undefined) context.res.once('finish', () => freeMemory(body))
    // Koa takes an empty body for 204.
    context.status = status
  }

  /** Holds the place until the plugin is done with the request, and the other side with the answer. */
  async function leaveLater(context: Context, done: Promise<unknown>, leave: () => void): Promise<void> {
    const { res } = context
    const slow = clock.schedule(readingTime, () => res.destroy())
    if (!res.closed) await once(res, 'close')
    slow.cancel()
    await done
    leave()
  }

  return async (context, next) => {
    if (!context.url.startsWith('/hooks/')) {
      await next()
      return
    }
    context.set({ ...sandboxed })
    context.state.route = hookRoute
    const hook = await hookOf(context)
    if (hook.auth === 'token') access.checkToken(context.req)
    checkMethod(context, hook)
    const gone = new AbortController()
    context.res.once('close', () => gone.abort(over))
    const { plugin } = hook
    /** What it has, to be given back at its end. */
    const leaves: (() => void)[] = []
    let done: Promise<unknown> = Promise.resolve()
    try {
      const body = await admit(context, plugin, gone.signal, leaves)
      const asked = ask(context, hook, body, gone.signal)
      ;({ done } = asked)
      const outcome = await asked.outcome
      await passTurn()
      send(context, outcome)
    } finally {
      void leaveLater(context, done, () => {
        for (const leave of leaves) leave()
      })
    }
  }
}
