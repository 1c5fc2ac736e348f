import type { Answers, QuestionKind, QuestionOf } from '../../../schema/worker/question.ts'
import { type Steps, type Wait, type Waiting, waitFor } from '../lua/steps.ts'
import { outcomeOf } from './pending-questions.ts'
import type { Asker, QuestionChannel } from './question-channel.ts'

/** How one isolate asks the host, or another plugin, and waits for the answer. */
export interface QuestionClient {
  /** Blocks until the answer is there, with all that is on the stack. Throws when there is no answer. */
  askNow<K extends QuestionKind, T>(question: QuestionOf<K>, accept: (answer: Answers[K]) => T): T
  /** Waits as whoever runs the steps does: blocking, or suspended. */
  ask<K extends QuestionKind, T>(question: QuestionOf<K>, accept: (answer: Answers[K]) => T): Steps<T>
  /** The same wait, for who yields it without a generator in between. */
  waitFor<K extends QuestionKind, T>(question: QuestionOf<K>, accept: (answer: Answers[K]) => T): Wait<T>
  /** Asks and goes on; answers how to take it back. */
  begin<K extends QuestionKind>(
    question: QuestionOf<K>,
    accept: (answer: Answers[K]) => void,
    failed: (error: Error) => void,
  ): () => void
  /** Nobody waits any more. */
  giveUp(): void
}

export interface QuestionClientSettings {
  isolate: number
  questions: QuestionChannel
  /** Sends what Lua has done before it asks; answers whether the host has taken all of it. */
  flush(): boolean
  /** For an answer. */
  milliseconds: number
  /** Whether a blocking wait has taken too long for who shares the worker. */
  isOverBudget: (() => boolean) | undefined
  /** Runs `wait`, which blocks with all that is on the stack. */
  whileBlocked<T>(wait: () => T): T
}

export function createQuestionClient(settings: QuestionClientSettings): QuestionClient {
  const { isolate, questions, flush, milliseconds, isOverBudget, whileBlocked } = settings
  /** Answers that somebody waits for. */
  const awaited = new Set<Waiting>()

  /** What Lua did before it asks has happened when the host answers. */
  const asker = (): Asker => ({ isolate, milliseconds, settled: flush() })

  const askNow: QuestionClient['askNow'] = (question, accept) =>
    whileBlocked(() => {
      const waiting = beginToAsk(question, accept)
      waiting.start?.()
      questions.waitBlocking(waiting, milliseconds, isOverBudget)
      return waiting.take()
    })

  function beginToAsk<K extends QuestionKind, T>(
    question: QuestionOf<K>,
    accept: (answer: Answers[K]) => T,
  ): Waiting<T> {
    let outcome: (() => T) | undefined
    const end = (): void => {
      waiting.settled = true
      awaited.delete(waiting)
      waiting.wake?.()
    }
    const settle = (found: () => T): void => {
      outcome = found
      end()
    }
    const { start, takeBack } = questions.begin(
      asker(),
      question,
      // The answer is looked at the moment it comes, before anything that comes after it.
      (answer) => settle(outcomeOf(() => accept(answer))),
      (error) =>
        settle(() => {
          throw error
        }),
    )
    // No getter: V8 makes an object with one step by step, and there is one for each question.
    const waiting: Waiting<T> & { settled: boolean } = {
      settled: false,
      wake: undefined,
      start,
      take() {
        if (outcome === undefined) throw new Error('there is no answer, because the plugin is being unloaded')
        return outcome()
      },
      giveUp() {
        if (waiting.settled) return
        takeBack()
        end()
      },
    }
    awaited.add(waiting)
    return waiting
  }

  const wait: QuestionClient['waitFor'] = (question, accept) => ({
    kind: 'wait',
    now: () => askNow(question, accept),
    begin: () => beginToAsk(question, accept),
  })

  return {
    askNow,
    ask: (question, accept) => waitFor(wait(question, accept)),
    waitFor: wait,
    begin: (question, accept, failed) => questions.begin(asker(), question, accept, failed).takeBack,
    giveUp() {
      for (const waiting of awaited) waiting.giveUp()
    },
  }
}
