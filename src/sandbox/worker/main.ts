import { getHeapStatistics } from 'node:v8'
import { parentPort, workerData } from 'node:worker_threads'
import type { HostMessage, WorkerMessage, WorkerSetup } from '../../schema/worker-protocol.ts'
import { createWorkerIsolate, type WorkerIsolate } from './isolate.ts'
import { createQuestionChannel } from './question-channel.ts'

/** The entry of a plugin worker: hands what the host says to the isolate that it is meant for. */

if (parentPort === null)
  throw new Error('This file is run by the host as a worker thread; start the host instead.')
const port = parentPort
const post = (message: WorkerMessage): void => port.postMessage(message)
const isolates = new Map<number, WorkerIsolate>()
const questions = createQuestionChannel({
  setup: workerData as WorkerSetup,
  post,
  serve(message) {
    const { isolate } = message
    const found = isolates.get(isolate)
    if (found !== undefined) found.serve(message)
    else if (message.kind === 'call') {
      const outcome = { ok: false, message: 'plugin not running' } as const
      post({ kind: 'callAnswered', isolate, call: message.call, outcome })
    }
  },
  refuse: (isolate, references) => isolates.get(isolate)?.refuse(references),
})

/** Strings of Lua are byte arrays, which are outside the heap. */
function memory(): number {
  const { used_heap_size: heap, external_memory: outside } = getHeapStatistics()
  return heap + outside
}

port.on('message', (message: HostMessage) => {
  switch (message.kind) {
    case 'ping':
      post({ kind: 'pong', sequence: message.sequence, memory: memory() })
      break
    case 'load': {
      const number = message.isolate
      const isolate = createWorkerIsolate({ message, post, questions, closed: () => isolates.delete(number) })
      isolates.set(number, isolate)
      isolate.load()
      break
    }
    default:
      // An isolate that has ended hears nothing more.
      isolates.get(message.isolate)?.receive(message)
  }
})
post({ kind: 'ready' })
