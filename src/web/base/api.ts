import { signal } from '@preact/signals'

/** The way to the host's API. */

/** Longest wait for an answer, in milliseconds: an installation over a slow line takes its time. */
const requestTime = 120_000

/**
 * How long a plugin may be between two hosts, in milliseconds. Meanwhile nothing that is asked of it is done, and it is
 * asked again.
 */
const movingTime = 10_000

/** The host wants a token that this browser has not given. */
export const needsToken = signal(false)

/** What the host refused, in its own words. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  readonly code: string
  readonly errors: readonly { path: string; message: string }[]
  /** Milliseconds after which it may be tried again, where the host says so. */
  readonly retryAfter: number | undefined

  constructor(
    status: number,
    code: string,
    message: string,
    { errors = [], retryAfter }: { errors?: ApiError['errors']; retryAfter?: number | undefined } = {},
  ) {
    super(message)
    this.status = status
    this.code = code
    this.errors = errors
    this.retryAfter = retryAfter
  }
}

interface RequestOptions {
  body?: unknown
  signal?: AbortSignal
  headers?: Readonly<Record<string, string>>
}

export interface ApiAnswer<T> {
  body: T
  headers: Headers
}

export async function request<T>(
  method: string,
  path: string,
  options: RequestOptions = {},
): Promise<ApiAnswer<T>> {
  const end = performance.now() + movingTime
  for (;;) {
    try {
      return await ask<T>(method, path, options)
    } catch (error) {
      const isMoving = error instanceof ApiError && error.code === 'plugin_moving'
      if (!isMoving || performance.now() > end) throw error
      await pause(error.retryAfter ?? 1_000)
      options.signal?.throwIfAborted()
    }
  }
}

function pause(time: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, time))
}

async function ask<T>(
  method: string,
  path: string,
  { body, signal: abort, headers = {} }: RequestOptions,
): Promise<ApiAnswer<T>> {
  const deadline = AbortSignal.timeout(requestTime)
  let answer: Response
  try {
    answer = await fetch(path, {
      method,
      signal: abort === undefined ? deadline : AbortSignal.any([abort, deadline]),
      headers: { ...headers, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  } catch (error) {
    if (abort?.aborted === true) throw error
    throw new ApiError(0, 'unreachable', 'The host does not answer. It may be restarting; try again.')
  }
  const isJson = answer.headers.get('content-type')?.includes('json') ?? false
  const content: unknown = isJson ? await answer.json() : await answer.text()
  if (answer.ok) return { body: content as T, headers: answer.headers }
  const problem = (isJson ? content : {}) as Partial<{
    code: string
    detail: string
    title: string
    errors: ApiError['errors']
  }>
  if (answer.status === 401) needsToken.value = true
  const text = problem.detail ?? problem.title ?? `The host answered ${answer.status}.`
  const seconds = Number(answer.headers.get('retry-after') ?? NaN)
  throw new ApiError(answer.status, problem.code ?? 'unknown', text, {
    ...(problem.errors === undefined ? {} : { errors: problem.errors }),
    ...(Number.isNaN(seconds) ? {} : { retryAfter: seconds * 1_000 }),
  })
}

export async function get<T>(path: string, abort?: AbortSignal): Promise<T> {
  return (await request<T>('GET', path, abort === undefined ? {} : { signal: abort })).body
}

/** `revision`: the one that the plugin must still have; throws `revision_conflict` where it has moved on. */
export async function send<T>(
  method: 'POST' | 'PUT' | 'DELETE',
  path: string,
  body?: unknown,
  revision?: number,
): Promise<T> {
  const headers: Record<string, string> = revision === undefined ? {} : { 'If-Match': `"${revision}"` }
  return (await request<T>(method, path, body === undefined ? { headers } : { body, headers })).body
}

/** `/api/plugins/@ns/short`, with what follows. */
export function pluginApi(id: string, rest = ''): string {
  return `/api/plugins/${id.split('/').map(encodeURIComponent).join('/').replaceAll('%40', '@')}${rest}`
}

/** The same, with each thing that is wrong in what was sent. */
export function wordsWithDetails(error: unknown): string {
  const details =
    error instanceof ApiError ? error.errors.map(({ path, message }) => `${path} ${message}`) : []
  return [wordsOf(error), ...details].join(' ')
}

/** What went wrong, as a sentence for people. */
export function wordsOf(error: unknown): string {
  if (error instanceof ApiError) return error.message
  return error instanceof Error ? error.message : String(error)
}
