import { evictOldest } from '../../../base/evict-oldest.ts'
import type { Reference, SerializedValues } from '../../../schema/worker/plugin-call.ts'
import type { Answer, QuestionKind } from '../../../schema/worker/question.ts'
import type { AnswerMessage } from '../../../schema/worker/worker-protocol.ts'

/** There was no answer within so many milliseconds, or the worker is not the asker's alone and it gave up. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer'

  /** What to say of it: who did not answer, and within which time. */
  readonly within: string

  constructor(milliseconds: number, gaveUp: boolean) {
    const within = gaveUp ? 'in time for a worker that others share' : `within ${milliseconds / 1000} s`
    super(`the host did not answer ${within}`)
    this.within = within
  }
}

/** The answer that there is none, because that isolate has ended. */
export class PeerGone extends Error {
  override readonly name = 'PeerGone'
  readonly isolate: number

  constructor(message: string, isolate: number) {
    super(message)
    this.isolate = isolate
  }
}

/** Hears the answer to one question. */
type Waiting = (answer: AnswerMessage) => void

/** Questions of this worker that are under way, by their numbers, and those that were given up. */
export interface PendingQuestions {
  /** Who waits for its answer: each adds itself before its question is sent, as some are answered on the spot. */
  readonly waiting: Map<number, Waiting>
  /** Hands an answer to who waits for it. */
  answered(message: AnswerMessage): void
  /** Nobody waits for it any more. */
  abandon(isolate: number, number: number, kind: QuestionKind): void
}

export interface PendingQuestionsSettings {
  /** These were received with something that nobody waits for any more. */
  refuse(isolate: number, references: readonly Reference[]): void
  /** Tells whoever was to answer it. */
  giveUp(isolate: number, number: number): void
}

/** Questions given up whose answer may be on its way: one that the host has not given yet never comes. */
const abandonedLimit = 100

export function createPendingQuestions({ refuse, giveUp }: PendingQuestionsSettings): PendingQuestions {
  const waiting = new Map<number, Waiting>()
  const abandoned = new Map<number, QuestionKind>()

  function answered(message: AnswerMessage): void {
    const asker = waiting.get(message.number)
    if (asker === undefined) {
      if (message.ok) refuse(message.isolate, referencesOf(abandoned.get(message.number), message.value))
      abandoned.delete(message.number)
      return
    }
    waiting.delete(message.number)
    asker(message)
  }

  function abandon(isolate: number, number: number, kind: QuestionKind): void {
    waiting.delete(number)
    abandoned.set(number, kind)
    evictOldest(abandoned, abandonedLimit)
    giveUp(isolate, number)
  }

  return { waiting, answered, abandon }
}

/** What came of something, to be had later: its value, or what it has thrown. */
export function outcomeOf<T>(produce: () => T): () => T {
  try {
    const value = produce()
    return () => value
  } catch (error) {
    return () => {
      throw error
    }
  }
}

export function refusalOf({ message, gone }: Extract<AnswerMessage, { ok: false }>): Error {
  return gone === undefined ? new Error(message) : new PeerGone(message, gone)
}

function referencesOf(kind: QuestionKind | undefined, answer: Answer): readonly Reference[] {
  if (kind === 'callPlugin') return (answer as SerializedValues).references
  return kind === 'findPlugin' && answer !== undefined ? [answer as Reference] : []
}
