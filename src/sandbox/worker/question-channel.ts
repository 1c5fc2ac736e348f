import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import type { Json } from '../../base/json.ts'
import type { Question, UrgentMessage, WorkerMessage, WorkerSetup } from '../../schema/worker-protocol.ts'

/** Milliseconds a plugin waits for an answer of the host; a plugin that waits cannot do anything else. */
export const questionDeadline = 5_000

/**
 * Asks the host and waits. Answers come on a port of their own, because the messages on the main port have
 * to stay in line until Lua has finished. While it waits it takes everything that comes on that port, in
 * order, so calls into this worker can be served there.
 */
export interface QuestionChannel {
  /** Throws when the host refuses, or does not answer in time. */
  ask(isolate: number, question: Question): Json | undefined
}

export function createQuestionChannel(
  setup: WorkerSetup,
  post: (message: WorkerMessage) => void,
): QuestionChannel {
  const port: MessagePort = setup.urgent
  const signal = new Int32Array(setup.signal)
  let lastNumber = 0

  function nextUrgentMessage(deadline: number): UrgentMessage | undefined {
    for (;;) {
      // The signal is read before the port: a message that comes in between ends the wait at once.
      const seen = Atomics.load(signal, 0)
      const received: { message: UrgentMessage } | undefined = receiveMessageOnPort(port)
      if (received !== undefined) return received.message
      const remaining = deadline - performance.now()
      if (remaining <= 0) return undefined
      Atomics.wait(signal, 0, seen, remaining)
    }
  }

  return {
    ask(isolate, question) {
      lastNumber += 1
      const number = lastNumber
      post({ kind: 'question', isolate, number, question })
      const deadline = performance.now() + questionDeadline
      for (;;) {
        const message = nextUrgentMessage(deadline)
        if (message === undefined) {
          throw new Error(`the host did not answer within ${questionDeadline / 1000} s`)
        }
        // An answer that came too late for its question is of no use any more.
        if (message.number !== number) continue
        if (message.ok) return message.value
        throw new Error(message.message)
      }
    },
  }
}
