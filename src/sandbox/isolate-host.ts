import { type Clock, type ScheduledCall, withDeadline } from '../base/clock.ts'
import type { Json } from '../base/json.ts'
import { approximateSize } from '../base/json-size.ts'
import type { Logger } from '../base/log.ts'
import { messageOf, Problem } from '../base/problem.ts'
import { type LogEntry, noResources, type Resources } from '../schema/plugin.ts'
import {
  type HostMessage,
  type IsolateMessage,
  type Operation,
  parseOperation,
  type Question,
} from '../schema/worker-protocol.ts'
import { createDeferred, type Deferred } from './deferred.ts'
import { createFlow } from './flow.ts'
import { createHeldThings } from './held-things.ts'
import { type Isolate, IsolateError, type IsolateServices, type IsolateSource } from './isolate.ts'
import { createKeptBytes } from './kept-bytes.ts'
import type { SandboxLimits } from './limits.ts'
import { perform } from './operations.ts'
import { operationSize, parcelSize } from '../schema/operation-size.ts'
import { createOpenCalls } from './outside-calls.ts'
import { createPace } from './pace.ts'
import type { PluginCalls } from './plugin-calls.ts'
import type { Reply } from './question-desk.ts'
import type { WorkerThread } from './worker-thread.ts'

/** Bytes that a delivery takes besides its content, roughly. */
const deliveryOverhead = 128
/** Milliseconds; a timer for less would wait longer than that. */
const shortestDelay = 1

type ControlOutcome = Extract<IsolateMessage, { kind: 'controlAnswered' }>['outcome']

export interface IsolateHostSettings {
  clock: Clock
  logger: Logger
  limits: SandboxLimits
  thread: WorkerThread
  /** Its number in the worker. */
  number: number
  source: IsolateSource
  services: IsolateServices
  /** From one plugin to another. */
  pluginCalls: PluginCalls
}

/** The host's side of one isolate, from its load to its end. */
export interface IsolateHost extends Isolate {
  /** Resolves when the plugin runs. Rejects with `IsolateError`; then it has ended. */
  load(): Promise<void>
  /** Unloads it, or ends it at once when it is still being loaded. */
  close(): Promise<void>
}

export function createIsolateHost(settings: IsolateHostSettings): IsolateHost {
  const { clock, logger, limits, thread, number, source, services, pluginCalls } = settings
  const flow = createFlow(limits.batchCredit, limits.deliveryBytes)
  const held = createHeldThings()
  const kept = createKeptBytes(limits.keptBytes)
  const loaded = createDeferred<undefined>()
  const unloaded = createDeferred<undefined>()
  const ended = createDeferred<IsolateError | undefined>()
  const controlRequests = new Map<number, Deferred<ControlOutcome>>()
  const calls = createOpenCalls({
    clock,
    request: (call, signal) => services.request(call, signal),
    answer(answered, answer) {
      if (!over) thread.post({ kind: 'result', isolate: number, number: answered, answer })
    },
  })
  const pace = createPace(limits, clock.monotonic)
  /** Credit and answers that a plugin which asks too much has to wait for. */
  const delayed = new Set<ScheduledCall>()
  let crampedAt = Number.NEGATIVE_INFINITY
  let slowedAt = Number.NEGATIVE_INFINITY
  let counts: Resources = { ...noResources }
  let lastRequest = 0
  let dropped = 0
  let running = false
  let over = false
  /** The plugin has said its last word. */
  let released = false
  let unloading: Promise<void> | undefined

  /** A service that throws is the host's fault, and no reason to stop what comes after it. */
  function serve(operation: Operation): void {
    if (!kept.admit(operation)) {
      warnOfRoom()
      return
    }
    held.note(operation)
    try {
      if (operation.kind === 'resources') counts = operation.resources
      else if (operation.kind === 'call') calls.start(operation.number, operation.call)
      else if (operation.kind === 'cancel') calls.cancel(operation.number)
      else perform(services, operation)
    } catch (error) {
      logger.error('A service of the sandbox failed', {
        plugin: source.id,
        operation: operation.kind,
        reason: messageOf(error),
      })
    }
  }

  function warnOfRoom(): void {
    if (clock.monotonic() - crampedAt < limits.slowdownNotice) return
    crampedAt = clock.monotonic()
    say(
      'warn',
      `values were not taken over: the objects, sensors and controls of a plugin may have ${limits.keptBytes} bytes at most`,
    )
  }

  function say(level: LogEntry['level'], message: string): void {
    serve({ kind: 'log', entry: { at: new Date(clock.now()).toISOString(), level, message } })
  }

  function takeBatch(operations: readonly unknown[]): void {
    const begun = clock.monotonic()
    let bytes = 0
    for (const value of operations) {
      const parsed = parseOperation(value)
      if (parsed.ok) {
        bytes += operationSize(parsed.value)
        serve(parsed.value)
      } else logger.error('A plugin worker asked for nonsense', { plugin: source.id, errors: parsed.errors })
    }
    const owed = charge(operations.length, bytes)
    // Not within this turn of the event loop: others want to be served between two batches of a flood, and
    // what this one has cost the host, all that followed from it included, is known only then.
    const giveCredit = (): void =>
      void setImmediate(() => {
        const busy = clock.monotonic() - begun
        later(Math.max(owed - busy, busy * (1 / limits.hostShare - 1)), returnCredit)
      })
    const drained = services.drained?.()
    if (drained === undefined) giveCredit()
    else {
      const late = (): Error => new Error('the host could not pass it on in time')
      withDeadline(clock, limits.drainDeadline, drained, late).then(giveCredit, giveCredit)
    }
  }

  /** Milliseconds that the plugin has to wait after having asked for so much. */
  function charge(operations: number, bytes: number): number {
    const owed = pace.charge(operations, bytes)
    // The clean-up has a deadline, and an end.
    if (unloading !== undefined) return 0
    if (owed > 0 && clock.monotonic() - slowedAt >= limits.slowdownNotice) {
      slowedAt = clock.monotonic()
      say(
        'warn',
        `the plugin is slowed down: it asks more of the host than ${limits.operationsPerSecond} operations or ${limits.bytesPerSecond} bytes a second`,
      )
    }
    return owed
  }

  /** Waits a while, though never as long as a worker waits at most. */
  function later(milliseconds: number, task: () => void): void {
    if (over) return
    if (milliseconds < shortestDelay) {
      task()
      return
    }
    const call = clock.schedule(Math.min(milliseconds, limits.drainDeadline), () => {
      delayed.delete(call)
      task()
    })
    delayed.add(call)
  }

  function returnCredit(): void {
    if (over) return
    flow.giveCredit()
    thread.post({ kind: 'credit', isolate: number })
  }

  /** The one way out: takes back what is left, ends the worker, and says so. */
  async function end(error: IsolateError | undefined): Promise<void> {
    if (over) return
    for (const operation of held.release()) serve(operation)
    over = true
    running = false
    counts = { ...noResources }
    for (const call of delayed) call.cancel()
    delayed.clear()
    thread.detach(number)
    pluginCalls.leave(number)
    for (const request of controlRequests.values()) request.reject(notRunning())
    controlRequests.clear()
    // What onCleanup asked for last is still done; everything else has been cancelled.
    if (released) await Promise.all([thread.close(), calls.finish(limits.lastWordsDeadline)])
    else {
      calls.abort()
      await thread.close()
    }
    const failure = error ?? new IsolateError('worker_died', 'the plugin was unloaded before it had loaded')
    loaded.reject(failure)
    unloaded.resolve(undefined)
    ended.resolve(error)
  }

  function notRunning(): Problem {
    return new Problem('invalid_transition', `The plugin ${source.id} is not running.`)
  }

  function unload(): Promise<void> {
    if (!over) unloading ??= cleanUp()
    return unloading ?? ended.promise.then(() => undefined)
  }

  async function cleanUp(): Promise<void> {
    running = false
    pluginCalls.publish(number, false)
    thread.watch(false)
    thread.post({ kind: 'unload', isolate: number })
    const late = (): Error => new Error(`onCleanup did not end within ${limits.luaCleanup / 1000} s`)
    try {
      await withDeadline(clock, limits.unloadDeadline, unloaded.promise, late)
    } catch (error) {
      say('error', `${messageOf(error)}; the plugin was ended by force`)
    }
    await end(undefined)
  }

  /** Answers whether there was room for it; a plugin that is far behind loses what comes. */
  function makeRoom(cost: number): boolean {
    if (!running) return false
    if (!flow.takeRoom(cost)) {
      dropped += 1
      if (dropped === 1)
        say('warn', 'events and messages are dropped: the plugin handles them more slowly than they come')
      return false
    }
    if (dropped > 0) say('warn', `${dropped} events and messages were dropped`)
    dropped = 0
    return true
  }

  pluginCalls.join({
    isolate: number,
    id: source.id,
    shortId: source.shortId,
    post: (message) => thread.postUrgent(message),
  })
  thread.attach(number, {
    receive(message) {
      switch (message.kind) {
        case 'batch':
          takeBatch(message.operations)
          break
        case 'loaded':
          loaded.resolve(undefined)
          break
        case 'loadFailed':
          void end(new IsolateError(message.code, message.failure.message, message.failure.traceback))
          break
        case 'controlAnswered':
          controlRequests.get(message.request)?.resolve(message.outcome)
          break
        case 'unloaded':
          released = true
          reportLeftovers(message.resources)
          unloaded.resolve(undefined)
          break
        case 'callAnswered':
          pluginCalls.answered(number, message.call, message.outcome)
          break
        case 'release':
          pluginCalls.release(number, message.releases)
          break
      }
    },
    answer(question, reply) {
      const bytes = question.kind === 'callPlugin' ? parcelSize(question.parcel) : 0
      later(charge(1, bytes), () => answer(question, reply))
    },
    died(error) {
      if (unloading !== undefined) say('error', `onCleanup: ${error.message}`)
      void end(unloading === undefined ? error : undefined)
    },
  })

  function answer(question: Question, reply: Reply): void {
    switch (question.kind) {
      case 'lookUpObject':
        reply.succeed(services.lookUpObject(question.fullPath))
        break
      case 'listPlugins':
        reply.succeed(services.listPlugins())
        break
      case 'findPlugin':
        pluginCalls.find(number, question.id, reply)
        break
      case 'callPlugin':
        pluginCalls.call(number, question, reply)
        break
    }
  }

  /** Has a setter called, and answers what it answered. */
  async function ask(id: string, message: (request: number) => HostMessage): Promise<Json | undefined> {
    if (!running) throw notRunning()
    lastRequest += 1
    const request = lastRequest
    const answer = createDeferred<ControlOutcome>()
    controlRequests.set(request, answer)
    thread.post(message(request))
    const late = (): Problem =>
      new Problem('internal', `${id} did not take the value within ${limits.controlDeadline / 1000} s.`)
    try {
      const outcome = await withDeadline(clock, limits.controlDeadline, answer.promise, late)
      if (outcome.ok) return outcome.value
      const code = outcome.reason === 'unknown' ? 'control_unknown' : 'control_value_invalid'
      throw new Problem(code, outcome.message)
    } finally {
      controlRequests.delete(request)
    }
  }

  function reportLeftovers(resources: Resources): void {
    counts = resources
    if (Object.values(resources).some((count) => count > 0)) {
      logger.error('A plugin still held something after its clean-up', { plugin: source.id, resources })
    }
  }

  return {
    ended: ended.promise,
    resources: () => ({ ...counts }),
    usage: () => ({
      plugin: source.id,
      memoryLimit: limits.oldGenerationMegabytes * 1024 * 1024,
      ...thread.usage(),
    }),
    async load() {
      thread.post({
        kind: 'load',
        isolate: number,
        source,
        budgets: {
          load: limits.luaLoad,
          callback: limits.luaCallback,
          cleanup: limits.luaCleanup,
          call: limits.callDeadline,
        },
        stringLimitBytes: limits.stringBytes,
        flow: flow.buffer,
      })
      const late = (): IsolateError =>
        new IsolateError(
          'load_timeout',
          `init.lua and onInit took longer than ${limits.loadDeadline / 1000} s`,
        )
      try {
        await withDeadline(clock, limits.loadDeadline, loaded.promise, late)
      } catch (error) {
        await end(error instanceof IsolateError ? error : new IsolateError('worker_died', messageOf(error)))
        throw error
      }
      running = true
      pluginCalls.publish(number, true)
      thread.watch(true)
    },
    deliverEvent(name, data) {
      const cost = deliveryOverhead + name.length + approximateSize(data)
      if (!makeRoom(cost)) return
      thread.post({
        kind: 'deliverEvent',
        isolate: number,
        name,
        cost,
        ...(data === undefined ? {} : { data }),
      })
    },
    deliverMessage(subscription, topic, payload) {
      const cost = deliveryOverhead + topic.length + payload.byteLength
      if (!makeRoom(cost)) return
      // A copy of its own: a view would take its whole buffer along, which may be the broker's.
      const bytes = new Uint8Array(payload)
      thread.post({ kind: 'deliverMessage', isolate: number, subscription, topic, payload: bytes, cost })
    },
    setControl: (id, value) =>
      ask(id, (request) => ({ kind: 'setControl', isolate: number, request, id, value })),
    async setExposed(id, feature, value) {
      await ask(id, (request) => ({ kind: 'setExposed', isolate: number, request, id, feature, value }))
    },
    unload,
    close() {
      if (running || unloading !== undefined || over) return unload()
      return end(new IsolateError('worker_died', 'the host stopped while the plugin was loading'))
    },
  }
}
