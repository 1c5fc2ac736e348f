import Router from '@koa/router'
import Koa, { type Context, type Middleware } from 'koa'
import type { Clock } from '../base/time/clock.ts'
import { jsonText } from '../base/text/json.ts'
import type { Logger } from '../base/log/log.ts'
import { Problem } from '../base/problem.ts'
import { type LifecycleFacade, retryAfterCatchUp } from '../lifecycle/facade.ts'
import type { Access } from './access/access.ts'
import { readJsonBody } from './requests/body.ts'
import { createIdempotency } from './requests/idempotency.ts'
import type { HandledRequest } from './metrics/metrics.ts'
import { canonicalPath } from './requests/path.ts'
import { createProblemAnswers } from './answers/problem-answer.ts'
import { type Answer, type PreparedRequest, type Route, takesKey } from './route.ts'
import type { SharedRequests } from './requests/shared-requests.ts'
import type { StartGate } from './requests/start-gate.ts'
import { securityHeaders } from '../base/network/security-headers.ts'

export interface AppSettings {
  routes: readonly Route[]
  /** What a proxy takes off addresses of this host; empty: nothing. */
  basePath: string
  lifecycle: LifecycleFacade
  access: Access
  clock: Clock
  logger: Logger
  /** Hears of every request when it has been answered. */
  handled(request: HandledRequest): void
  gate: StartGate
  /** Answers what is addressed to plugins, before anything else is asked of a request. */
  hooks: Middleware
  /** What the other hosts of a fleet know of requests that are to act once. */
  requests?: SharedRequests | undefined
}

/** The Koa application: what every request goes through, and the routes. */
export function createApp({
  routes,
  basePath,
  lifecycle,
  access,
  clock,
  logger,
  handled,
  gate,
  hooks,
  requests,
}: AppSettings): Koa {
  const app = new Koa()
  const router = new Router({ sensitive: true })
  const runOnce = createIdempotency<Answer | undefined>(clock, requests && { requests, write: withoutJson })

  // Only streams that break off come here: all else becomes an answer.
  app.on('error', (error: unknown) => logger.debug('A connection broke off', { error }))
  app.use(async (context, next) => {
    const start = clock.monotonic()
    await next()
    const { method, status, respond } = context
    const route = context.state.route as string | undefined
    // One that took the connection over (`respond`) goes on.
    const duration = respond === false ? undefined : (clock.monotonic() - start) / 1_000
    handled({ method, route, status, duration })
  })
  app.use(createProblemAnswers({ clock, logger }))
  app.use((context, next) => {
    for (const [name, value] of usualHeaders) context.res.setHeader(name, value)
    return next()
  })
  app.use(hooks)
  app.use(async (context, next) => {
    access.checkSender(context.req)
    if (context.url === '*' && context.method === 'OPTIONS') {
      context.status = 204
      return
    }
    if (!context.url.startsWith('/')) {
      throw new Problem(
        'body_invalid',
        'The address must begin with a slash, or with http:// and what the Host header says.',
      )
    }
    context.path = canonicalPath(context.path)
    await next()
  })
  /** By method and path. The router tries every pattern on each request, so it is asked only where there is one. */
  const withoutParameters = new Map<string, Middleware>()
  for (const route of routes) {
    const answer = answerRoute(route)
    for (const path of route.also === undefined ? [route.path] : [route.path, route.also]) {
      if (!path.includes(':')) withoutParameters.set(`${route.method} ${path}`, answer)
      router.register(path, [route.method], [answer])
    }
  }
  app.use(async (context, next) => {
    const answer = withoutParameters.get(`${context.method} ${context.path}`)
    context.params = {}
    await (answer === undefined ? next() : answer(context, next))
  })
  app.use(router.routes())
  app.use(answerUnmatched(access, routes.find(isPage)))
  return app

  function answerRoute(route: Route): Middleware {
    return async (context) => {
      context.state.route = route.path
      if (route.open !== true) access.checkCaller(context.req)
      if (route.early !== true) await gate.pass(route.method)
      const given = route.body === undefined ? undefined : await readJsonBody(context)
      const answer = await act(route, context, route.prepare(context, given))
      if (answer !== undefined) send(context, answer, basePath)
    }
  }

  function act(route: Route, context: Context, request: PreparedRequest): Promise<Answer | undefined> {
    const key = context.headers['idempotency-key']
    // Whoever has no token does not have the store asked, and is told of no names.
    const run = async (requestKey?: string): Promise<Answer | undefined> =>
      route.open === true
        ? request.run(requestKey)
        : retryAfterCatchUp(lifecycle, () => request.run(requestKey), { isCommand: route.method !== 'GET' })
    if (key === undefined || !takesKey(route)) return run()
    const target = `${route.method} ${targetOf(route, context)}${route.query === undefined ? '' : context.search}`
    return runOnce({ key: String(key), target, body: request.body }, async (requestKey) => {
      const done = route.recall === undefined ? undefined : lifecycle.recallRequest(requestKey)
      if (done !== undefined) await done.finish()
      const recalled = done === undefined ? undefined : await route.recall?.(done.plugin)
      return recalled ?? run(requestKey)
    })
  }
}

const usualHeaders = Object.entries(securityHeaders)

/** The route's main path with the parts that were given: the same for both addresses of a route. */
function targetOf(route: Route, context: Context): string {
  const parameters = context.params as Record<string, string>
  return route.path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(parameters[name] ?? ''))
}

/** The body as any host would write it. */
function withoutJson(answer: Answer | undefined): unknown {
  const { json, ...rest } = answer ?? { body: null }
  return json === undefined ? rest : { ...rest, body: JSON.parse(json.toString()) as unknown }
}

function send(context: Context, { status = 200, body, json, type, headers }: Answer, basePath: string): void {
  context.status = status
  context.set('Content-Type', type ?? 'application/json; charset=utf-8')
  if (headers !== undefined) context.set({ ...headers })
  if (headers?.['Location'] !== undefined) context.set('Location', basePath + headers['Location'])
  context.body = type === undefined ? (json ?? jsonText(body)) : body
}

/** The user interface, which says of an address that it has no page there. */
const isPage = ({ method, path, page }: Route): boolean => method === 'GET' && path === '/' && page === true
/** What people do not open in a browser. */
const isOfPrograms = /^\/(api|assets|hooks|livez|metrics|mqtt|readyz)(\/|$)/

/** Addresses below these are no secret to anybody who has a token, and to nobody else. */
const guarded = /^\/(api|metrics)(\/|$)|^\/plugins\/[^/]+/

function answerUnmatched(access: Access, page: Route | undefined): Middleware {
  return async (context) => {
    const matched = (context.matched as { methods: string[] }[] | undefined) ?? []
    const isBrowser = context.method === 'GET' && context.accepts('json', 'html') === 'html'
    if (page !== undefined && isBrowser && matched.length === 0 && !isOfPrograms.test(context.path)) {
      const answer = await page.prepare(context, undefined).run(undefined)
      if (answer !== undefined) send(context, { ...answer, status: answer.status ?? 404 }, '')
      return
    }
    if (guarded.test(context.path)) access.checkCaller(context.req)
    const methods = [...new Set(matched.flatMap((layer) => layer.methods)), 'OPTIONS'].sort()
    if (matched.length === 0) {
      throw new Problem('not_found', 'There is nothing at this address; /api/plugins lists the plugins.')
    }
    context.set('Allow', methods.join(', '))
    if (context.method === 'OPTIONS') {
      context.status = 204
      return
    }
    throw new Problem('method_not_allowed', `This address takes ${methods.join(', ')}.`)
  }
}
