import { parentPort, workerData } from 'node:worker_threads'
import type { HostMessage, WorkerMessage, WorkerSetup } from '../../schema/worker-protocol.ts'
import { createWorkerIsolate, type WorkerIsolate } from './isolate.ts'
import { createQuestionChannel } from './question-channel.ts'

/** The entry of a plugin worker: hands what the host says to the isolate that it is meant for. */

if (parentPort === null)
  throw new Error('This file is run by the host as a worker thread; start the host instead.')
const port = parentPort
const post = (message: WorkerMessage): void => port.postMessage(message)
const questions = createQuestionChannel(workerData as WorkerSetup, post)
const isolates = new Map<number, WorkerIsolate>()

port.on('message', (message: HostMessage) => {
  switch (message.kind) {
    case 'ping':
      post({ kind: 'pong', sequence: message.sequence })
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
