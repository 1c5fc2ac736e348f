import type { Readable } from 'node:stream'
import { signalCells } from '../../schema/worker/shared-cells.ts'
import { type MessagePort, Worker } from 'node:worker_threads'
import type { Clock } from '../../base/time/clock.ts'
import type { Logger } from '../../base/log/log.ts'
import { isSystemFault } from '../../base/files/system-fault.ts'
import { messageOf, systemErrorCode } from '../../base/problem.ts'
import {
  type HostMessage,
  type IsolateMessage,
  parseWorkerMessage,
  type UrgentMessage,
  type WorkerSetup,
} from '../../schema/worker/worker-protocol.ts'
import { type Question } from '../../schema/worker/question.ts'
import type { IsolateUsage } from '../../schema/api/system.ts'
import { createHeartbeat } from './heartbeat.ts'
import { type ThreadTimes, threadTimesOf } from './thread-times.ts'
import type { TurnRules } from '../../schema/worker/shared-cells.ts'
import { IsolateError } from '../isolate.ts'
import type { SandboxLimits } from '../limits.ts'
import { createPendingRequests, type Reply } from '../calls/pending-requests.ts'
import type { MemoryUser } from './memory-eviction.ts'
import { workerBootstrap, workerProgram } from './worker-entry.ts'
import { terminateWorker } from './worker-termination.ts'

/** Characters that a worker may write to its standard streams at a time; plugins have no way to do it. */
const outputLimit = 2_000

/** Share of the time between signs of life, 0 to 1, up to which V8 has nothing to compile for a worker. */
const idleLoad = 0.05
/** Milliseconds of work since its last sign of life up to which a worker counts as idle. */
const idleTime = 1

/** What hears of one isolate in a worker. */
export interface IsolateListener {
  receive(message: Exclude<IsolateMessage, { kind: 'question' | 'abandon' }>): void
  /** What it throws is the answer too. */
  answer(question: Question, reply: Reply): void
  /** The worker is gone; nothing is heard of the isolate after that. */
  died(error: IsolateError): void
}

/** One worker thread, which holds isolates by number. */
export interface WorkerThread extends MemoryUser {
  /** It has ended, or is ending. */
  readonly gone: boolean
  attach(isolate: number, listener: IsolateListener): void
  detach(isolate: number): void
  /** Does nothing when the worker is gone. */
  post(message: HostMessage, transfer?: ArrayBuffer[]): void
  /** The same for what a worker reads also while it waits for an answer. */
  postUrgent(message: UrgentMessage, transfer?: MessagePort[]): void
  /** What a worker that waits sleeps on, for those that it has links with. */
  readonly signal: SharedArrayBuffer
  /** Ends the worker when it does not answer any more. A load and an unload have deadlines of their own. */
  watch(enabled: boolean): void
  /** Undefined: the system does not say, or the thread has not begun. */
  times(): ThreadTimes | undefined
  /** What it takes of memory, as it said last, and of the processor, as of the last beat that it had answered. */
  usage(): Pick<IsolateUsage, 'memory' | 'load'>
  /** Ends the worker for this reason; its isolates hear of it. */
  fail(error: IsolateError): void
  /** Ends the worker at once. Idempotent. */
  close(): Promise<void>
}

export interface WorkerThreadSettings {
  clock: Clock
  logger: Logger
  limits: SandboxLimits
  /** Shown by debuggers. */
  name: string
  /** For a worker that isolates share. */
  shared?: {
    turns: TurnRules
    /** What its end means for one of its isolates. */
    deathFor(isolate: number): IsolateError | undefined
    /** Its code is there. */
    ready(): void
    /** It asks for the beat of the host. */
    resumeBeats(): void
    /** It ends, and not because it was asked to; called before its isolates hear of it. */
    dying(error: IsolateError): void
  }
}

/** Starts a worker. Throws `IsolateError` when the system has no room for one more. */
export function createWorkerThread(settings: WorkerThreadSettings): WorkerThread {
  const { clock, logger, limits, name, shared } = settings
  const listeners = new Map<number, IsolateListener>()
  const requests = createPendingRequests()
  const worker = startWorker()
  let gone = false
  /** What it had done when its last sign of life came. */
  let answered = worker.performance.eventLoopUtilization()
  /** The same when it was looked at last, which is also while it rests: else a long rest would hide that it is busy now. */
  let measured = answered
  /** As of that look. */
  let load: number | null = null
  const signal = new Int32Array(requests.setup.signal)
  let exited: Promise<unknown> | undefined

  function startWorker(): Worker {
    try {
      const setup: WorkerSetup =
        shared === undefined ? requests.setup : { ...requests.setup, turns: shared.turns }
      return new Worker(workerBootstrap, {
        eval: true,
        name,
        workerData: { ...setup, program: workerProgram() },
        transferList: [requests.setup.urgent],
        // Nothing of the host's surroundings: no environment, no options, no streams.
        env: {},
        execArgv: [],
        argv: [],
        stdin: true,
        stdout: true,
        stderr: true,
        resourceLimits: {
          maxOldGenerationSizeMb: limits.memory,
          maxYoungGenerationSizeMb: limits.youngGenerationMegabytes,
          codeRangeSizeMb: limits.codeMegabytes,
          stackSizeMb: limits.stackMegabytes,
        },
      })
    } catch (error) {
      void requests.close()
      throw notStarted(error)
    }
  }

  const heartbeat = createHeartbeat({
    clock,
    interval: limits.heartbeatInterval,
    limit: limits.unresponsiveAfter,
    ping: (sequence) => post({ kind: 'ping', sequence }),
    waited: () => times()?.waited ?? 0,
    waiting: requests.waits,
    idle() {
      measure()
      return worker.performance.eventLoopUtilization(answered).active < idleTime
    },
    unresponsive: () =>
      die(
        new IsolateError(
          'unresponsive',
          `the plugin did not answer for ${limits.unresponsiveAfter / 1000} s, as in an endless loop, and was ended`,
        ),
      ),
  })

  function post(message: HostMessage, transfer: ArrayBuffer[] = []): void {
    if (!gone) worker.postMessage(message, transfer)
  }

  /** As it looked last, at least ten times a second while Lua runs; 0 before the first look. */
  const memory = (): number => Atomics.load(signal, signalCells.memory) * 1024

  function times(): ThreadTimes | undefined {
    const thread = Atomics.load(signal, signalCells.thread)
    return thread === 0 ? undefined : threadTimesOf(thread)
  }

  function measure(): void {
    load = loadSinceMeasured()
    measured = worker.performance.eventLoopUtilization()
  }

  function loadSinceMeasured(): number | null {
    const { utilization } = worker.performance.eventLoopUtilization(measured)
    return Number.isFinite(utilization) ? utilization : null
  }

  function die(error: IsolateError): void {
    if (gone) return
    shared?.dying(error)
    void close()
    for (const [isolate, listener] of [...listeners]) listener.died(shared?.deathFor(isolate) ?? error)
    listeners.clear()
  }

  function close(): Promise<void> {
    gone = true
    heartbeat.stop()
    exited ??= Promise.all([
      // A sign of life that had to wait comes when the worker has just ceased to be busy.
      terminateWorker(worker, { wasBusy: Math.max(load ?? 0, loadSinceMeasured() ?? 1) > idleLoad }),
      requests.close(),
    ])
    // Nothing is left of it, whatever it said last.
    return exited.then(() => void Atomics.store(signal, signalCells.memory, 0))
  }

  function receive(value: unknown): void {
    if (gone) return
    const parsed = parseWorkerMessage(value)
    if (!parsed.ok) {
      logger.error('A worker said something that is not in the protocol', {
        worker: name,
        errors: parsed.errors,
      })
      return
    }
    const message = parsed.value
    if (message.kind === 'ready') {
      shared?.ready()
      return
    }
    if (message.kind === 'pong') {
      heartbeat.pong(message.sequence)
      answered = worker.performance.eventLoopUtilization()
      return
    }
    if (message.kind === 'resumeBeats') {
      shared?.resumeBeats()
      return
    }
    const listener = listeners.get(message.isolate)
    if (message.kind === 'question') {
      const { question } = message
      requests.open(message.isolate, message.number, (reply) => {
        if (listener === undefined) throw new Error('the plugin is not running')
        listener.answer(question, reply)
      })
    } else if (message.kind === 'abandon') requests.abandon(message.number)
    else listener?.receive(message)
  }

  function captureOutput(stream: Readable, kind: 'stdout' | 'stderr'): void {
    stream.on('data', (chunk: Buffer) => {
      logger.warn('A worker wrote to a standard stream', {
        worker: name,
        stream: kind,
        text: chunk.toString('utf8').slice(0, outputLimit),
      })
    })
  }

  worker.on('message', receive)
  worker.on('messageerror', (error) =>
    die(new IsolateError('worker_died', `unreadable message: ${error.message}`)),
  )
  worker.on('error', (error) => die(deathOf(error, limits)))
  worker.on('exit', (code) =>
    die(new IsolateError('worker_died', `the worker ended by itself with code ${code}`)),
  )
  captureOutput(worker.stdout, 'stdout')
  captureOutput(worker.stderr, 'stderr')

  return {
    get gone() {
      return gone
    },
    attach: (isolate, listener) => void listeners.set(isolate, listener),
    detach: (isolate) => void listeners.delete(isolate),
    post,
    postUrgent(message, transfer) {
      if (!gone) requests.post(message, transfer)
    },
    signal: requests.setup.signal,
    times,
    usage: () => ({ memory: memory() || null, load }),
    memory,
    largest: memory,
    spared: limits.sparedMegabytes * 1024 * 1024,
    collectGarbage: () => post({ kind: 'collectGarbage' }),
    evict(reason) {
      die(reason)
      return close()
    },
    fail: die,
    watch: (enabled) => (enabled && !gone ? heartbeat.start() : heartbeat.stop()),
    close,
  }
}

function deathOf(error: unknown, limits: SandboxLimits): IsolateError {
  if (systemErrorCode(error) === 'ERR_WORKER_OUT_OF_MEMORY') {
    const message = `the plugin used more than its ${limits.memory} MB of memory (limit memory) and was ended`
    return new IsolateError('out_of_memory', message)
  }
  if (isSystemFault(error)) return notStarted(error)
  return new IsolateError('worker_died', `the worker failed: ${messageOf(error)}`)
}

function notStarted(cause: unknown): IsolateError {
  const message = `no worker thread could be started: ${messageOf(cause)}`
  return new IsolateError('worker_died', message, '', { cause })
}
