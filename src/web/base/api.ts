import { signal } from '@preact/signals'
import type { Static } from 'typebox'
import type { ProblemAnswer, SessionAnswer } from '../../schema/api/api.ts'
import { addressOf } from './address.ts'

/** The way to the host's API. */

/** Longest wait for an answer, in milliseconds: an installation over a slow line takes its time. */
const requestTime = 120_000

/**
 * How long a plugin may be between two hosts, in milliseconds. Meanwhile nothing that is asked of it is done, and it is
 * asked again.
 */
const movingTime = 10_000

/**
 * How long a command is asked for again while nobody answers, in milliseconds: a host is back from a restart in seconds, and
 * a phone in another network. It has a key, so that it acts once, and what came of it is told.
 */
const silentTime = 20_000
/** The same in all, while a proxy has waited in vain: most do so for a minute, and an installation may take longer. */
const commandTime = 300_000
/**
 * The same in all cases, and for one answer too, where somebody sets a value: a gate must not open when nobody stands before it
 * any more. A plugin may take half of it.
 */
const valueTime = 10_000
/** What a proxy answers for a host that has not done so in time; the second is that of a large one. */
const lateStatuses: ReadonlySet<number> = new Set([504, 524])
/** The same for a host that is not there. */
const awayStatuses: ReadonlySet<number> = new Set([502, 503])

/** Where one logs in, and out. */
export const sessionPath = '/api/session'

/** Whether the host asks for a token, and lets this browser in. */
export function session(): Promise<Static<typeof SessionAnswer>> {
  return get(sessionPath)
}

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

type Refusal = Omit<Static<typeof ProblemAnswer>, 'code'> & { code: string }

interface RequestOptions {
  body?: unknown
  signal?: AbortSignal
  /** Milliseconds from the beginning on in which a command must have come through; default: it depends on what is in its way. */
  patience?: number
  headers?: Readonly<Record<string, string>>
  /** The answer is a text; default: JSON, or nothing. */
  isText?: boolean
}

interface ApiAnswer<T> {
  body: T
  headers: Headers
}

export async function request<T>(
  method: string,
  path: string,
  options: RequestOptions = {},
): Promise<ApiAnswer<T>> {
  const begin = performance.now()
  let silentSince: number | undefined
  for (;;) {
    try {
      return await ask<T>(method, path, options)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      const now = performance.now()
      silentSince = error.code === 'late' ? undefined : (silentSince ?? now)
      if (now > endOf(error.code, options, begin, silentSince)) throw error
      await pause(error.retryAfter ?? 1_000)
      options.signal?.throwIfAborted()
    }
  }
}

/** Until when it is asked again (of `performance.now`) after this failure. */
function endOf(
  code: string,
  { headers = {}, patience }: RequestOptions,
  begin: number,
  silentSince: number | undefined,
): number {
  if (code === 'plugin_moving') return begin + movingTime
  if (headers['Idempotency-Key'] === undefined) return -Infinity
  const isAway = code === 'unreachable' || code === 'shutting_down'
  if (patience !== undefined) return code === 'late' || isAway ? begin + patience : -Infinity
  if (code === 'late') return begin + commandTime
  return isAway && silentSince !== undefined ? silentSince + silentTime : -Infinity
}

export function pause(time: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, time))
}

async function ask<T>(
  method: string,
  path: string,
  { body, signal: abort, patience = requestTime, headers = {}, isText = false }: RequestOptions,
): Promise<ApiAnswer<T>> {
  const deadline = AbortSignal.timeout(patience)
  const unanswered = (status: number, isLate: boolean): ApiError =>
    new ApiError(
      status,
      isLate ? 'late' : 'unreachable',
      headers['Idempotency-Key'] === undefined
        ? 'The host does not answer. It may be restarting; try again.'
        : 'The host does not answer, so it is not known whether this was done. Look again when it is back.',
    )
  let answer: Response
  let content: unknown
  let isJson: boolean
  try {
    answer = await fetch(addressOf(path), {
      method,
      signal: abort === undefined ? deadline : eitherOf(abort, deadline),
      headers: { ...headers, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    isJson = answer.headers.get('content-type')?.includes('json') ?? false
    // The connection may break off in the middle of an answer, too.
    content = isJson ? await answer.json() : await answer.text()
  } catch (error) {
    if (abort?.aborted === true) throw error
    throw unanswered(0, deadline.aborted)
  }
  if (answer.ok) {
    if (isJson || isText || content === '') return { body: content as T, headers: answer.headers }
    throw new ApiError(
      answer.status,
      'unknown',
      'Something else answers in place of the host, such as a proxy that asks who you are. Load this page anew.',
    )
  }
  const problem = (isJson ? content : {}) as Partial<Refusal>
  const isLate = lateStatuses.has(answer.status)
  // Without a code it is no answer of the host's.
  if (problem.code === undefined && (isLate || awayStatuses.has(answer.status)))
    throw unanswered(answer.status, isLate)
  if (answer.status === 401) needsToken.value = true
  const hasLoginEnded = answer.status === 401 && path !== sessionPath
  const text = hasLoginEnded
    ? loginEndedWords(headers['Idempotency-Key'] !== undefined)
    : (problem.detail ?? problem.title ?? `The host answered ${answer.status}.`)
  const seconds = Number(answer.headers.get('retry-after') ?? NaN)
  throw new ApiError(answer.status, problem.code ?? 'unknown', text, {
    ...(problem.errors === undefined ? {} : { errors: problem.errors }),
    ...(Number.isNaN(seconds) ? {} : { retryAfter: seconds * 1_000 }),
  })
}

/** What the host says of it is for programs. A command may have been done before, where its answer was lost. */
function loginEndedWords(isCommand: boolean): string {
  return `The login has ended. Log in, and ${isCommand ? 'look whether this was done' : 'try again'}.`
}

/** `AbortSignal.any` is not there in the oldest browsers that these pages are for. */
function eitherOf(...signals: readonly AbortSignal[]): AbortSignal {
  const either = new AbortController()
  for (const one of signals) {
    if (one.aborted) either.abort()
    else one.addEventListener('abort', () => either.abort(), { signal: either.signal })
  }
  return either.signal
}

export async function get<T>(path: string, abort?: AbortSignal): Promise<T> {
  return (await request<T>('GET', path, abort === undefined ? {} : { signal: abort })).body
}

/**
 * A command acts once, even if its answer is lost on the way and it has to be asked for again. `revision`: the one that the plugin
 * must still have; throws `revision_conflict` where it has moved on.
 */
export async function send<T>(
  method: 'POST' | 'PUT' | 'DELETE',
  path: string,
  body?: unknown,
  revision?: number,
): Promise<T> {
  const headers: Record<string, string> = {
    'Idempotency-Key': newKey(),
    ...(revision === undefined ? {} : { 'If-Match': `"${revision}"` }),
  }
  return (await request<T>(method, path, body === undefined ? { headers } : { body, headers })).body
}

/** What is being set, by its address. */
const settings = new Map<string, AbortController>()

/**
 * Sets a value, once. False: another one was set at this address before it had come through, which it never will.
 * `everyOne`: each counts, as when a button is pressed.
 */
export async function sendValue(path: string, value: unknown, everyOne: boolean): Promise<boolean> {
  if (!everyOne) settings.get(path)?.abort()
  const own = new AbortController()
  settings.set(path, own)
  const headers = { 'Idempotency-Key': newKey() }
  try {
    await request('PUT', path, { body: { value }, headers, signal: own.signal, patience: valueTime })
    return true
  } catch (error) {
    if (own.signal.aborted) return false
    throw error
  } finally {
    if (settings.get(path) === own) settings.delete(path)
  }
}

/** Nobody else has the same. `crypto.randomUUID` is not there over plain HTTP. */
function newKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('')
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
