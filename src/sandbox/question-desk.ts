import { MessageChannel } from 'node:worker_threads'
import type { Json } from '../base/json.ts'
import { messageOf } from '../base/problem.ts'
import type { UrgentMessage, WorkerSetup } from '../schema/worker-protocol.ts'

/** The host's end of the channel on which a waiting worker gets its answers. */
export interface QuestionDesk {
  /** For `workerData`; `urgent` has to be transferred. */
  readonly setup: WorkerSetup
  /** Answers a question with what `reply` gives or throws, now or later. */
  answer(number: number, reply: () => Json | undefined | Promise<Json | undefined>): void
  /** Whether an answer is owed. */
  readonly owing: boolean
  close(): void
}

export function createQuestionDesk(): QuestionDesk {
  const { port1: port, port2: urgent } = new MessageChannel()
  const signal = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
  const cell = new Int32Array(signal)
  let owed = 0
  // The worker keeps the host running, not this port.
  port.unref()

  function post(message: UrgentMessage): void {
    port.postMessage(message)
    // After the message is there: a worker that wakes finds it.
    Atomics.add(cell, 0, 1)
    Atomics.notify(cell, 0)
  }

  function succeed(number: number, value: Json | undefined): void {
    owed -= 1
    post({ kind: 'answer', number, ok: true, ...(value === undefined ? {} : { value }) })
  }

  function fail(number: number, error: unknown): void {
    owed -= 1
    post({ kind: 'answer', number, ok: false, message: messageOf(error) })
  }

  return {
    setup: { urgent, signal },
    answer(number, reply) {
      owed += 1
      try {
        const value = reply()
        if (value instanceof Promise) {
          value.then(
            (later) => succeed(number, later),
            (error: unknown) => fail(number, error),
          )
        } else succeed(number, value)
      } catch (error) {
        fail(number, error)
      }
    },
    get owing() {
      return owed > 0
    },
    close: () => port.close(),
  }
}
