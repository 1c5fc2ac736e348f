import { parentPort, workerData } from 'node:worker_threads'
import { createProcessorTimeMeter } from '../../base/time/starvation.ts'
import { postToHost } from '../../schema/worker/call-frames.ts'
import { signalCells } from '../../schema/worker/shared-cells.ts'
import type { HostMessage, WorkerMessage, WorkerSetup } from '../../schema/worker/worker-protocol.ts'
import { createProcessorShare } from './budgets/processor-share.ts'
import { createTimeBudget, type TimeBudget } from './budgets/time-budget.ts'
import { collectGarbage, heapStatistics, prepareGarbageCollection } from './heap.ts'
import { createWorkerIsolate, type WorkerIsolate } from './isolate.ts'
import { createLuaRuntime } from './lua/lua-runtime.ts'
import { createQuestionChannel } from './questions/question-channel.ts'
import { createRunQueue } from './scheduling/run-queue.ts'
import { createTurns, type MemoryInUse, type Turns } from './scheduling/turns.ts'
import { workerClock } from './scheduling/worker-clock.ts'

/** The entry of a plugin worker: hands what the host says to the isolate that it is meant for. */

if (parentPort === null)
  throw new Error('This file is run by the host as a worker thread; start the host instead.')
const port = parentPort
const warmUp = new TextEncoder().encode('local t = {} for i = 1, 1000 do t[i] = tostring(i) end')
const post = (message: WorkerMessage, transfer?: ArrayBuffer[]): void => postToHost(port, message, transfer)
const setup = workerData as WorkerSetup
const signal = new Int32Array(setup.signal)
const isolates = new Map<number, WorkerIsolate>()
const queue = createRunQueue(workerClock)
const turns: Turns | undefined =
  setup.turns &&
  createTurns({
    rules: setup.turns,
    memory: memoryInUse,
    collectGarbage,
    afterTurn: setImmediate,
    exceeded: (isolate, excess) => isolates.get(isolate)?.exceeded(excess),
    resumeBeats: () => post({ kind: 'resumeBeats' }),
  })
/** Share of its room outside the heap above which a worker counts as full, and readings in a row at which it is. */
const keptShare = 0.95
const readingsAllowed = 3
/** Milliseconds between two readings of the memory in the midst of Lua; each takes some microseconds. */
const memoryInterval = 100
/** Bytes that a plugin has left behind, as V8 collects nothing in a worker that is idle. */
const worthCollecting = 32 * 1024 * 1024
if (turns !== undefined) prepareGarbageCollection()
let outsideLimit = Number.POSITIVE_INFINITY
let readingsAbove = 0
let memoryDue = workerClock.monotonic() + memoryInterval
const questions = createQuestionChannel({
  setup,
  clock: workerClock,
  post,
  serve(message) {
    const { isolate } = message
    const found = isolates.get(isolate)
    if (found !== undefined) found.serve(message)
    else if (message.kind === 'call') questions.refuseCall(message, 'plugin not running')
  },
  cancel: (isolate, call) => isolates.get(isolate)?.cancel(call),
  pluginOf: (isolate) => isolates.get(isolate)?.plugin,
  runOthers: queue.runOne,
  refuse: (isolate, references) => isolates.get(isolate)?.refuse(references),
})

/** Strings of Lua are byte arrays, which are outside the heap. The host sees it, too. */
function memoryInUse(): MemoryInUse {
  const { used_heap_size: heap, external_memory: outside } = heapStatistics()
  Atomics.store(signal, signalCells.memory, (heap + outside) / 1024)
  return { heap, outside }
}

/** In the midst of a callback no ping is answered. */
function showMemory(): void {
  if (workerClock.monotonic() < memoryDue) return
  memoryDue = workerClock.monotonic() + memoryInterval
  memoryInUse()
}

/** What an isolate leaves behind; then the host hears of its end, as it may be about to load it in another worker. */
function collectLeftovers(last: WorkerMessage | undefined): void {
  collectGarbage()
  memoryInUse()
  if (last !== undefined) post(last)
}

const share = createProcessorShare(createProcessorTimeMeter(workerClock, setup.waited ?? (() => 0)))
const openBudget = (): TimeBudget =>
  createTimeBudget(workerClock, share, turns === undefined ? showMemory : undefined)

/**
 * Ends a plugin that keeps too many strings in a worker of its own; it gets no more of them, so it is of no use to
 * anybody. One that rests keeps less than it seems to: V8 has not collected what it has dropped.
 */
function enforceOutsideLimit(outside: number): void {
  if (turns !== undefined) return
  const isFull = (bytes: number): boolean => bytes > outsideLimit * keptShare
  readingsAbove = isFull(outside) ? readingsAbove + 1 : 0
  if (readingsAbove < readingsAllowed) return
  readingsAbove = 0
  collectGarbage()
  if (!isFull(memoryInUse().outside)) return
  for (const isolate of isolates.values()) isolate.exceeded('memory')
}

port.on('message', (message: HostMessage) => {
  switch (message.kind) {
    case 'ping': {
      enforceOutsideLimit(memoryInUse().outside)
      post({ kind: 'pong', sequence: message.sequence })
      break
    }
    case 'collectGarbage':
      if (turns === undefined) collectGarbage()
      else turns.collectGarbage()
      memoryInUse()
      break
    case 'makeRoom':
      turns?.makeRoom()
      break
    case 'load': {
      const number = message.isolate
      const closed = (last: WorkerMessage): void => {
        isolates.delete(number)
        questions.ended(number)
        const isMuch = (turns?.forget(number) ?? 0) > worthCollecting
        // Who waits on the spot keeps the event loop, for seconds maybe.
        const mayWait = isMuch && turns?.isNested === false
        if (!mayWait) post(last)
        if (isMuch) setImmediate(collectLeftovers, mayWait ? last : undefined)
      }
      outsideLimit = message.outsideBytes
      const isolate = createWorkerIsolate({ message, post, questions, turns, queue, openBudget, closed })
      isolates.set(number, isolate)
      isolate.load()
      break
    }
    default:
      // One that has ended hears nothing more, and has no turns: an account of them would stay for ever.
      isolates.get(message.isolate)?.receive(message)
  }
})
// The first Lua state takes many times as long as those after it: not at the expense of who shares the worker.
if (turns !== undefined) createLuaRuntime({ print: () => undefined, now: Date.now }).run(warmUp, 'warm-up')
post({ kind: 'ready' })
