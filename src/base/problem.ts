import { cutText, cutTexts } from './text/cut-text.ts'

interface ProblemKind {
  status: number
  title: string
  /** Seconds after which it may be tried again, unless whoever raises it knows better. */
  retryAfter?: number
}

/**
 * The one table of errors that callers can see. The HTTP layer and the MQTT responses are generated from
 * it, and a test checks that every code is documented and can be raised.
 */
export const problemTable = {
  body_invalid: { status: 400, title: 'The request is not well-formed' },
  unauthorized: { status: 401, title: 'A valid token is needed' },
  forbidden: { status: 403, title: 'This caller may not do that' },
  plugin_not_installed: { status: 404, title: 'No such plugin is installed' },
  plugin_not_in_repository: { status: 404, title: 'No repository offers this plugin' },
  repository_unknown: { status: 404, title: 'No repository has this name' },
  host_unknown: { status: 404, title: 'No live host of the fleet has this name' },
  doc_not_found: { status: 404, title: 'The manifest lists no such document' },
  control_unknown: { status: 404, title: 'The plugin has no such control' },
  not_found: { status: 404, title: 'There is nothing at this address' },
  method_not_allowed: { status: 405, title: 'This address does not know the method' },
  already_installed: { status: 409, title: 'The plugin is already installed' },
  ambiguous_id: { status: 409, title: 'Several installed plugins have this short id' },
  ambiguous_repository: { status: 409, title: 'Several repositories offer this plugin' },
  invalid_transition: { status: 409, title: 'The plugin cannot do this in its present state' },
  no_other_host: { status: 409, title: 'No host can take the plugin' },
  repository_pinned: { status: 409, title: 'The repository is pinned to another key' },
  revision_conflict: { status: 412, title: 'The plugin has changed since it was read' },
  body_too_large: { status: 413, title: 'The request body is too large' },
  unsupported_media_type: { status: 415, title: 'The request body must be JSON' },
  manifest_invalid: { status: 422, title: 'The plugin manifest is invalid' },
  config_invalid: { status: 422, title: 'The configuration is invalid' },
  limits_invalid: { status: 422, title: 'The limits are invalid' },
  host_version_unsupported: { status: 422, title: 'The plugin needs a newer host' },
  dependency_unmet: { status: 422, title: 'A plugin that this one needs is missing' },
  integrity_mismatch: { status: 422, title: 'A file is not the one that was promised' },
  signature_invalid: { status: 422, title: 'The repository is not signed as it must be' },
  control_value_invalid: { status: 422, title: 'The control does not accept this value' },
  too_many_requests: { status: 429, title: 'There were too many of these from here' },
  hook_failed: { status: 500, title: 'The plugin failed to answer' },
  answer_too_large: { status: 500, title: 'The broker does not take so large an answer' },
  internal: { status: 500, title: 'The host made a mistake' },
  repository_unreachable: { status: 502, title: 'The repository could not be read' },
  broker_unavailable: { status: 503, title: 'The broker takes no connection here' },
  hook_unavailable: { status: 503, title: 'The plugin cannot take the request now' },
  plugin_moving: { status: 503, title: 'The plugin is moving to another host', retryAfter: 1 },
  fleet_unreachable: {
    status: 503,
    title: 'What the fleet shares cannot be reached',
    retryAfter: 2,
  },
  shutting_down: { status: 503, title: 'The host is shutting down' },
  hook_timeout: { status: 504, title: 'The plugin did not answer in time' },
  storage_full: { status: 507, title: 'What is to be kept cannot be written' },
} as const satisfies Record<string, ProblemKind>

export type ProblemCode = keyof typeof problemTable

function kindOf(code: ProblemCode): ProblemKind {
  return problemTable[code]
}

/** One thing wrong with an input; `path` is a JSON pointer into it. */
export interface ProblemDetail {
  path: string
  message: string
}

/** An error that is meant for the caller: a code of the table, and a sentence that says what to do. */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly code: ProblemCode
  readonly errors: readonly ProblemDetail[] | undefined
  /** Seconds after which it may be tried again. */
  readonly retryAfter: number | undefined

  constructor(
    code: ProblemCode,
    detail: string,
    options: { errors?: readonly ProblemDetail[]; cause?: unknown; retryAfter?: number } = {},
  ) {
    super(detail, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.errors = options.errors
    this.retryAfter = options.retryAfter ?? kindOf(code).retryAfter
  }

  get status(): number {
    return problemTable[this.code].status
  }
}

/** `again`: what whoever asked is to do once the host is back. */
export function shuttingDown(again: 'try' | 'connect' = 'try'): Problem {
  return new Problem('shutting_down', `The host is shutting down; ${again} again when it is back.`)
}

/** A problem as one host tells another. */
export interface SentProblem {
  code: string
  message: string
  errors?: ProblemDetail[] | undefined
}

export function sentProblem(error: unknown): SentProblem {
  const { code, message, errors } =
    error instanceof Problem ? error : new Problem('internal', messageOf(error))
  return { code, message, errors: errors && [...errors] }
}

/** A newer host may know more codes. */
export function receivedProblem({ code, message, errors }: SentProblem): Problem {
  const known = Object.hasOwn(problemTable, code) ? (code as ProblemCode) : 'internal'
  return new Problem(known, message, errors === undefined ? {} : { errors })
}

/** RFC 9457 problem details, as HTTP and MQTT answer them. */
export interface ProblemDocument {
  type: string
  title: string
  status: number
  detail: string
  instance?: string
  code: ProblemCode
  errors?: readonly ProblemDetail[]
}

/** The problem document of any thrown value; what is not a `Problem` becomes `internal` without its text. */
export function problemDocument(error: unknown, instance?: string): ProblemDocument {
  const problem =
    error instanceof Problem
      ? error
      : new Problem('internal', 'Something went wrong in the host; its log says what.')
  const { status, title } = problemTable[problem.code]
  return {
    type: `urn:lupine:problem:${problem.code}`,
    title,
    status,
    detail: cutText(problem.message),
    ...(instance === undefined ? {} : { instance }),
    code: problem.code,
    ...(problem.errors === undefined ? {} : { errors: cutTexts(problem.errors) }),
  }
}

/** The message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Node's error code (`ENOENT`, …) of any thrown value, if it has one. */
export function systemErrorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}
