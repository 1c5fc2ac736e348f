import { createHash } from 'node:crypto'
import type { Clock } from '../../base/time/clock.ts'
import { Problem, receivedProblem, sentProblem } from '../../base/problem.ts'
import {
  type RequestClaim,
  type KnownRequest,
  askOtherHosts,
  type SharedRequests,
} from './shared-requests.ts'

/** How many answers are remembered; the least recently used go first. */
const rememberedAnswers = 1_000
/**
 * Characters of all remembered requests, which their answers commonly repeat: a thousand configurations of a megabyte
 * each would be more than a board has.
 */
const rememberedLength = 16 * 1024 * 1024
/** How long an answer is remembered, in milliseconds: a day, longer than any client tries again. */
const rememberedTime = 24 * 60 * 60 * 1_000
const keyPattern = /^[\x21-\x7e]{1,255}$/

/** A POST that is to act once, however often it arrives. */
export interface RepeatableRequest {
  /** The `Idempotency-Key` header. */
  key: string
  /** Method and path: `POST /api/plugins/clock/toggle`. */
  target: string
  body: unknown
}

/**
 * Gives the answer of the first request with this key, also to one that arrives while it is still at work.
 * `act` gets the name of the request under which its facts are written down. Refusals (4xx) are answers
 * too; after a failure of the host (5xx) the next one tries again. Throws `body_invalid` when the key is
 * malformed or has been used for another request. In a fleet all that holds for all hosts together.
 */
export type RunOnce<T> = (request: RepeatableRequest, act: (requestKey: string) => Promise<T>) => Promise<T>

/** The hosts of a fleet, and how an answer goes from one to another. */
export interface SharedIdempotency<T> {
  requests: SharedRequests
  /** The answer as another host takes it over. */
  write(answer: T): unknown
}

interface Started<T> {
  entry: Remembered<T>
  settle(answer: Promise<T>): void
}

interface Remembered<T> extends RequestClaim {
  fingerprint: string
  /** Characters of the request's body. */
  length: number
  answer: Promise<T>
  settled: boolean
  /** Monotonic time after which it is forgotten. */
  expires: number
}

/** `shared`: absent, this host works by itself. */
export function createIdempotency<T>(clock: Clock, shared?: SharedIdempotency<T>): RunOnce<T> {
  // In the order of use, the latest last.
  const answers = new Map<string, Remembered<T>>()

  /** Characters of all requests in `answers`. */
  let total = 0

  function forget(key: string): void {
    total -= answers.get(key)?.length ?? 0
    answers.delete(key)
  }

  function forgetOld(): void {
    const now = clock.monotonic()
    let excess = answers.size - rememberedAnswers
    for (const [key, { settled, expires }] of answers) {
      // One that is still at work stays: without it, a repetition would act twice.
      if (!settled || (expires > now && excess <= 0 && total <= rememberedLength)) continue
      forget(key)
      excess -= 1
    }
  }

  function remember(key: string, request: Pick<Remembered<T>, 'fingerprint' | 'length'>): Started<T> {
    const { fingerprint, length } = request
    const expires = clock.monotonic() + rememberedTime
    const claim = { isUndecided: shared !== undefined, yieldedTo: new Set<string>() }
    let settle = (_answer: Promise<T>): void => undefined
    const answer = new Promise<T>((resolve) => (settle = resolve))
    const entry: Remembered<T> = { fingerprint, length, answer, settled: false, expires, ...claim }
    answers.set(key, entry)
    total += length
    answer.then(
      () => {
        entry.settled = true
      },
      (error: unknown) => {
        entry.settled = true
        const isRefusal = error instanceof Problem && error.status < 500
        if (!isRefusal && answers.get(key) === entry) forget(key)
      },
    )
    return { entry, settle }
  }

  /** Of this host alone. */
  async function known(
    from: string,
    key: string,
    fingerprint: string,
    waits: boolean,
  ): Promise<KnownRequest> {
    const entry = answers.get(key)
    if (entry === undefined) return { known: 'no' }
    if (entry.isUndecided && shared !== undefined && from < shared.requests.host) {
      entry.yieldedTo.add(from)
      return { known: 'no' }
    }
    if (entry.fingerprint !== fingerprint) return { known: 'other' }
    if (!entry.settled && !waits) return { known: 'underWay' }
    try {
      return { known: 'answered', answer: shared?.write(await entry.answer) }
    } catch (error) {
      return { known: 'refused', problem: sentProblem(error) }
    }
  }
  shared?.requests.serve((from, { key, fingerprint }, waits) => known(from, key, fingerprint, waits))

  /** Acts, unless another host has, or is about to. */
  async function actOnce(key: string, entry: Remembered<T>, act: () => Promise<T>): Promise<T> {
    if (shared === undefined) return act()
    const { fingerprint } = entry
    const found = await askOtherHosts(shared.requests, { key, fingerprint }, entry)
    entry.isUndecided = false
    if (found.known === 'answered') return found.answer as T
    if (found.known === 'refused') throw receivedProblem(found.problem)
    if (found.known !== 'other') return act()
    // What is remembered of the key is the other request.
    if (answers.get(key) === entry) forget(key)
    throw usedForAnother()
  }

  return async ({ key, target, body }, act) => {
    if (!keyPattern.test(key)) {
      throw new Problem('body_invalid', 'Idempotency-Key must be 1 to 255 visible ASCII characters.')
    }
    forgetOld()
    const text = body === undefined ? '' : JSON.stringify(body)
    const fingerprint = hash(`${target}\n${text}`)
    const present = answers.get(key)
    if (present === undefined) {
      const { entry, settle } = remember(key, { fingerprint, length: text.length })
      // It is remembered before anybody is asked: those who ask at the same time have to hear of it.
      settle(actOnce(key, entry, () => act(hash(`${target}\n${key}`))))
      return entry.answer
    }
    if (present.fingerprint !== fingerprint) throw usedForAnother()
    answers.delete(key)
    answers.set(key, present)
    return present.answer
  }
}

function usedForAnother(): Problem {
  return new Problem(
    'body_invalid',
    'This Idempotency-Key was used for another request: use a new key for each new command.',
  )
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
