import { createHash } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { Problem } from '../base/problem.ts'

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

export interface Idempotency<T> {
  /**
   * Gives the answer of the first request with this key, also to one that arrives while it is still at work.
   * `act` gets the name of the request under which its facts are written down. Refusals (4xx) are answers
   * too; after a failure of the host (5xx) the next one tries again. Throws `body_invalid` when the key is
   * malformed or has been used for another request.
   */
  run(request: RepeatableRequest, act: (requestKey: string) => Promise<T>): Promise<T>
}

interface Remembered<T> {
  fingerprint: string
  /** Characters of the request's body. */
  length: number
  answer: Promise<T>
  settled: boolean
  /** Monotonic time after which it is forgotten. */
  expires: number
}

export function createIdempotency<T>(clock: Clock): Idempotency<T> {
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

  function remember(key: string, request: { fingerprint: string; length: number }, answer: Promise<T>): void {
    const entry = { ...request, answer, settled: false, expires: clock.monotonic() + rememberedTime }
    answers.set(key, entry)
    total += entry.length
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
  }

  return {
    async run({ key, target, body }, act) {
      if (!keyPattern.test(key)) {
        throw new Problem('body_invalid', 'Idempotency-Key must be 1 to 255 visible ASCII characters.')
      }
      forgetOld()
      const text = body === undefined ? '' : JSON.stringify(body)
      const fingerprint = hash(`${target}\n${text}`)
      const known = answers.get(key)
      if (known === undefined) {
        const answer = act(hash(`${target}\n${key}`))
        remember(key, { fingerprint, length: text.length }, answer)
        return answer
      }
      if (known.fingerprint !== fingerprint) {
        throw new Problem(
          'body_invalid',
          'This Idempotency-Key was used for another request: use a new key for each new command.',
        )
      }
      answers.delete(key)
      answers.set(key, known)
      return known.answer
    },
  }
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
