import { type Clock, withDeadline } from '../base/clock.ts'
import type { Json } from '../base/json.ts'
import type { Logger } from '../base/log.ts'
import { messageOf, Problem } from '../base/problem.ts'
import { operationSize, parcelSize } from '../schema/operation-size.ts'
import { noResources, type Resources } from '../schema/plugin.ts'
import {
  type HostMessage,
  type IsolateMessage,
  parseOperation,
  type Question,
} from '../schema/worker-protocol.ts'
import { createBackpressure } from './backpressure.ts'
import { createControlRequests } from './control-requests.ts'
import { createDeferred } from './deferred.ts'
import { createDeliveries } from './deliveries.ts'
import { createFlow } from './flow.ts'
import { createIntake, type Task } from './intake.ts'
import { type Isolate, IsolateError, type IsolateServices, type IsolateSource } from './isolate.ts'
import { type SandboxLimits, workerLimits } from './limits.ts'
import type { PluginCalls } from './plugin-calls.ts'
import type { Reply } from './question-desk.ts'
import type { Seat } from './seat.ts'
import { createServicesDesk } from './services-desk.ts'

export interface IsolateHostSettings {
  clock: Clock
  logger: Logger
  limits: SandboxLimits
  seat: Seat
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
  const { clock, logger, limits, seat, number, source, services, pluginCalls } = settings
  const loaded = createDeferred<undefined>()
  const unloaded = createDeferred<undefined>()
  const ended = createDeferred<IsolateError | undefined>()
  const intake = createIntake(clock)
  let running = false
  let ending = false
  let over = false
  /** The plugin has said its last word, and its worker has nothing of it any more. */
  let released = false
  let unloading: Promise<void> | undefined

  const desk = createServicesDesk({
    ...{ clock, logger, limits, services, plugin: source.id },
    answer(answered, answer) {
      if (!over) seat.post({ kind: 'result', isolate: number, number: answered, answer })
    },
  })
  const warn = (message: string): void => desk.say('warn', message)
  const flow = createFlow(limits.batchCredit, limits.deliveryBytes)
  const deliveries = createDeliveries({
    isolate: number,
    flow,
    post: (message) => seat.post(message),
    monotonic: clock.monotonic,
    notice: limits.slowdownNotice,
    warn,
  })
  const controlRequests = createControlRequests(clock, limits.controlDeadline)
  const backpressure = createBackpressure({
    ...{ clock, limits, warn, limitReached: desk.limitReached },
    drained: services.drained?.bind(services),
    deliveries: services.deliveries?.bind(services),
    giveCredit() {
      if (over) return
      flow.giveCredit()
      seat.post({ kind: 'credit', isolate: number })
    },
  })

  /** Takes one operation at a time, and its credit when all have been taken. */
  function batchTask(operations: readonly unknown[]): Task {
    let taken = 0
    let begun: number | undefined
    let bytes = 0
    return () => {
      begun ??= clock.monotonic()
      const parsed = parseOperation(operations[taken])
      if (parsed.ok) {
        bytes += operationSize(parsed.value)
        desk.serve(parsed.value)
      } else logger.error('A plugin worker asked for nonsense', { plugin: source.id, errors: parsed.errors })
      taken += 1
      if (over) return true
      if (taken < operations.length) return false
      backpressure.batchTaken(operations.length, bytes, begun)
      return true
    }
  }

  /** The one way out: takes back what is left, ends the worker, and says so. */
  async function end(error: IsolateError | undefined): Promise<void> {
    if (ending) return
    ending = true
    intake.finish()
    desk.release()
    over = true
    running = false
    desk.resources = { ...noResources }
    backpressure.close()
    seat.detach(number)
    pluginCalls.leave(number)
    controlRequests.rejectAll(notRunning())
    // What onCleanup asked for last is still done; everything else has been cancelled.
    if (released && error === undefined)
      await Promise.all([seat.leave(true), desk.finishCalls(limits.lastWordsDeadline)])
    else {
      desk.abortCalls()
      await seat.leave(released)
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

  /** The plugin takes too much of a worker that it shares. */
  function makeWay(excess: 'time' | 'memory'): void {
    if (seat.isolation === 'dedicated' || unloading !== undefined || ending) return
    const reason = `it takes too much ${excess} of a worker that it shares, and gets one of its own`
    desk.say('warn', reason)
    seat.moveAway(reason)
    if (services.moveAway === undefined) void unload()
    else services.moveAway(reason)
  }

  async function cleanUp(): Promise<void> {
    running = false
    backpressure.relent()
    pluginCalls.publish(number, false)
    seat.watch(false)
    seat.post({ kind: 'unload', isolate: number })
    const late = (): Error => new Error(`onCleanup did not end within ${limits.luaCleanup / 1000} s`)
    try {
      await withDeadline(clock, limits.unloadDeadline, unloaded.promise, late)
    } catch (error) {
      desk.say('error', `${messageOf(error)}; the plugin was ended by force`)
    }
    await end(undefined)
  }

  pluginCalls.join({
    isolate: number,
    id: source.id,
    shortId: source.shortId,
    post: (message) => seat.postUrgent(message),
    refuseUse: (plugin) => services.refuseUse?.(plugin),
  })
  function receive(message: Exclude<IsolateMessage, { kind: 'question' | 'abandon' | 'batch' }>): void {
    switch (message.kind) {
      case 'loaded':
        loaded.resolve(undefined)
        break
      case 'loadFailed':
        released = true
        void end(new IsolateError(message.code, message.failure.message, message.failure.traceback))
        break
      case 'overran':
        makeWay(message.excess)
        break
      case 'controlAnswered':
        controlRequests.answered(message.request, message.outcome)
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
  }

  /** What comes after a batch has to wait until the batch is done. */
  function queue(task: () => void): void {
    intake.add(() => {
      if (!over) task()
      return true
    })
  }

  seat.attach(number, {
    receive(message) {
      if (message.kind !== 'batch') queue(() => receive(message))
      else if (message.operations.length > 0) intake.add(batchTask(message.operations))
    },
    answer(question, reply) {
      const bytes = question.kind === 'callPlugin' ? parcelSize(question.parcel) : 0
      queue(() => backpressure.answer(bytes, () => answer(question, reply)))
    },
    died(error) {
      if (error.code === 'out_of_memory') desk.limitReached('memory')
      if (unloading !== undefined) desk.say('error', `onCleanup: ${error.message}`)
      void end(unloading === undefined ? error : undefined)
    },
  })

  function answer(question: Question, reply: Reply): void {
    try {
      give(question, reply)
    } catch (error) {
      reply.fail(messageOf(error))
    }
  }

  function give(question: Question, reply: Reply): void {
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

  function reportLeftovers(resources: Resources): void {
    desk.resources = resources
    if (Object.values(resources).some((count) => count > 0)) {
      logger.error('A plugin still held something after its clean-up', { plugin: source.id, resources })
    }
  }

  /** Has a setter called, and answers what it answered. */
  async function ask(id: string, message: (request: number) => HostMessage): Promise<Json | undefined> {
    if (!running) throw notRunning()
    return controlRequests.ask(id, (request) => seat.post(message(request)))
  }

  return {
    ended: ended.promise,
    resources: () => ({ ...desk.resources }),
    usage: () => ({
      plugin: source.id,
      isolation: seat.isolation,
      worker: seat.worker,
      memoryLimit: seat.heapMegabytes * 1024 * 1024,
      ...seat.usage(),
    }),
    async load() {
      const { luaLoad: load, luaCallback: callback, luaCleanup: cleanup, callDeadline: call } = limits
      seat.post({
        kind: 'load',
        isolate: number,
        source,
        budgets: { load, callback, cleanup, call },
        limits: workerLimits(limits),
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
      seat.watch(true)
    },
    deliverEvent(name, data) {
      if (running) deliveries.event(name, data)
    },
    deliverMessage(subscription, topic, payload) {
      if (running) deliveries.message(subscription, topic, payload)
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
