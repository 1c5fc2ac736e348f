import { once } from 'node:events'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { messageOf } from '../../base/problem.ts'
import { postToWorker } from '../../schema/worker/call-frames.ts'
import { createCells, signalCells } from '../../schema/worker/shared-cells.ts'
import type { UrgentMessage, WorkerSetup } from '../../schema/worker/worker-protocol.ts'
import type { Answer } from '../../schema/worker/question.ts'

/** The answer to one question, to be given once; a second one, or one that comes too late, does nothing. */
export interface Reply {
  succeed(value: Answer): void
  /** `gone`: the number of the isolate that should have answered, when it has ended. */
  fail(message: string, gone?: number): void
  /** Whether somebody still waits for it. */
  isWanted(): boolean
  /** Called when nobody waits for the answer any more. */
  whenAbandoned(callback: () => void): void
}

/** The host's end of the channel on which a waiting worker gets its answers, and calls of other plugins. */
export interface PendingRequests {
  /** For `workerData`; `urgent` has to be transferred. */
  readonly setup: WorkerSetup
  /** Has a question answered, now or later; what `handle` throws is the answer too. */
  open(isolate: number, number: number, handle: (reply: Reply) => void): void
  abandon(number: number): void
  /**
   * Whether the worker sleeps until there is an answer, of the host or of another worker, or has looked for one since this
   * was asked last.
   */
  waits(): boolean
  post(message: UrgentMessage, transfer?: MessagePort[]): void
  /** Resolves when the channel is gone. */
  close(): Promise<void>
}

export function createPendingRequests(): PendingRequests {
  const { port1: port, port2: urgent } = new MessageChannel()
  const signal = createCells(signalCells)
  const cells = new Int32Array(signal)
  /** Questions whose answer is owed, and what wants to know when it is not wanted any more. */
  const open = new Map<number, () => void>()
  let seenWaits = 0
  // The worker keeps the host running, not this port.
  port.unref()
  const closed = once(port, 'close')

  function post(message: UrgentMessage, transfer?: MessagePort[]): void {
    postToWorker(port, message, transfer)
    // After the message is there: a worker that wakes finds it.
    Atomics.add(cells, signalCells.received, 1)
    Atomics.notify(cells, signalCells.received)
  }

  return {
    setup: { urgent, signal },
    post,
    open(isolate, number, handle) {
      open.set(number, () => undefined)
      const reply: Reply = {
        succeed(value) {
          if (open.delete(number)) post({ kind: 'answer', isolate, number, ok: true, value })
        },
        fail(message, gone) {
          if (open.delete(number)) post({ kind: 'answer', isolate, number, ok: false, message, gone })
        },
        isWanted: () => open.has(number),
        whenAbandoned(callback) {
          if (open.has(number)) open.set(number, callback)
        },
      }
      try {
        handle(reply)
      } catch (error) {
        reply.fail(messageOf(error))
      }
    },
    abandon(number) {
      const abandoned = open.get(number)
      open.delete(number)
      abandoned?.()
    },
    waits() {
      const before = seenWaits
      seenWaits = Atomics.load(cells, signalCells.waits)
      return seenWaits !== before || (seenWaits & 1) === 1
    },
    async close() {
      port.close()
      await closed
    },
  }
}
