import type { Context } from 'koa'
import type { Static, TObject, TSchema } from 'typebox'
import { Problem, type ProblemCode } from '../base/problem.ts'
import { createParser } from '../schema/parsing/parser.ts'
import { createQueryParser } from './requests/query.ts'

/** One address of the API, with the schemas that check its requests and describe it. */

/** What a route answers; `type` only for what is not JSON. */
export interface Answer {
  status?: number
  body: unknown
  /** The body as JSON, where that is there already. */
  json?: Buffer
  type?: string
  headers?: Readonly<Record<string, string>>
}

export interface RouteRequest<Body, Query> {
  context: Context
  /** The named parts of the path, decoded. */
  parameters: Readonly<Record<string, string>>
  query: Query
  body: Body
  /** Name of the request that carries this `Idempotency-Key`. */
  requestKey: string | undefined
}

export interface RouteDefinition<Body extends TSchema, Query extends TObject> {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** In the router's way: `/api/plugins/:id`. */
  path: string
  /** The second address that does the same. */
  also?: string
  summary: string
  /** What the schemas of its answers cannot say. Markdown. */
  details?: string
  /** Needs no token. */
  open?: boolean
  /** Answers while the host is still getting ready. */
  early?: boolean
  query?: Query
  /** Schema of the body; a request without one is taken for `{}`. */
  body?: Body
  /** Schemas of the answers by status; null when an answer is not JSON. */
  answers: Readonly<Record<number, TSchema | null>>
  /** What its answers say in headers of their own. */
  answerHeaders?: Readonly<Record<string, string>>
  /** Content types of the answers that are not JSON. */
  produces?: readonly string[]
  /** A page of the user interface: not part of the API, and not in its description. */
  page?: boolean
  /** Codes that this route raises, beside those that any route does. */
  problems?: readonly ProblemCode[]
  /** Undefined when it has taken the connection over itself. */
  handle(request: RouteRequest<Static<Body>, Static<Query>>): Answer | Promise<Answer> | undefined
  /** The answer to a command that was done before; undefined to do it again. */
  recall?(plugin: string): Promise<Answer | undefined>
}

/** Whether its requests may be sent again under one `Idempotency-Key`, and act once. */
export function takesKey({ method, open }: Pick<Route, 'method' | 'open'>): boolean {
  // What anybody may ask must not push the answers of others out of memory.
  return method !== 'GET' && open !== true
}

export interface PreparedRequest {
  body: unknown
  run(requestKey: string | undefined): Promise<Answer | undefined>
}

/** A route whose types have been checked; what it is given is parsed first. */
export interface Route extends Omit<RouteDefinition<TSchema, TObject>, 'handle'> {
  /** Parses what the request says. Throws `Problem`s. */
  prepare(context: Context, body: unknown): PreparedRequest
}

export function defineRoute<Body extends TSchema = TObject, Query extends TObject = TObject>(
  definition: RouteDefinition<Body, Query>,
): Route {
  const { handle, ...description } = definition
  const parseBody = definition.body === undefined ? undefined : createParser(definition.body)
  const parseQuery = definition.query === undefined ? undefined : createQueryParser(definition.query)
  return {
    ...description,
    prepare(context, given) {
      const query = (parseQuery?.(context.query) ?? {}) as Static<Query>
      const parsed = parseBody?.(given === undefined ? {} : given)
      if (parsed !== undefined && !parsed.ok) {
        const detail =
          given === undefined
            ? 'This address needs a JSON object as the body.'
            : 'The body does not have the members that this address takes.'
        throw new Problem('body_invalid', detail, { errors: parsed.errors })
      }
      const body = parsed?.value as Static<Body>
      const parameters = context.params as Record<string, string>
      return {
        body,
        run: async (requestKey) => handle({ context, parameters, query, body, requestKey }),
      }
    },
  }
}
