import { dispatchByKind } from '../../base/dispatch-by-kind.ts'
import type { Clock } from '../../base/time/clock.ts'
import { withCountedDeadline } from '../../base/time/starvation.ts'
import { cutText, cutTexts } from '../../base/text/cut-text.ts'
import type { Json } from '../../base/text/json.ts'
import type { Logger } from '../../base/log/log.ts'
import { messageOf } from '../../base/problem.ts'
import { serializedSize } from '../../schema/worker/operation-size.ts'
import type { HostMessage, IsolateMessage } from '../../schema/worker/worker-protocol.ts'
import type { PluginCalls } from '../calls/plugin-calls.ts'
import { createBackpressure } from '../flow/backpressure.ts'
import { createDeliveries } from '../flow/deliveries.ts'
import { createFlow } from '../flow/flow.ts'
import type { CreateTaskQueue, Task } from '../flow/scheduler.ts'
import { type Isolate, IsolateError, type IsolateServices, type IsolateSource } from '../isolate.ts'
import { outsideBytes, ownersLimits, type SandboxLimits } from '../limits.ts'
import { createBatchTask } from '../operations/batch-task.ts'
import { createOperationDispatcher } from '../operations/operation-dispatcher.ts'
import type { WorkerSlot } from '../threads/worker-slot.ts'
import { createControlRequests } from './control-requests.ts'
import { createHookRequests } from './hook-requests.ts'
import { createDeferred } from '../../base/time/deferred.ts'
import { loadTimeout, notRunning } from './failures.ts'
import { createIsolateEnd, type IsolateLife } from './isolate-end.ts'
import { createQuestionAnswers } from './question-answers.ts'

export interface IsolateHostSettings {
  clock: Clock
  logger: Logger
  limits: SandboxLimits
  slot: WorkerSlot
  /** Its number in the worker. */
  number: number
  source: IsolateSource
  services: IsolateServices
  /** From one plugin to another. */
  pluginCalls: PluginCalls
  /** Shares the host's thread among all isolates. */
  createQueue: CreateTaskQueue
}

/** The host's side of one isolate, from its load to its end. */
export interface IsolateHost extends Isolate {
  /** Resolves when the plugin runs. Rejects with `IsolateError`; then it has ended. */
  load(): Promise<void>
  /** Unloads it, or ends it at once when it is still being loaded. */
  close(): Promise<void>
}

/** After which nothing of it is left in its worker. */
const lastWords: ReadonlySet<IsolateMessage['kind']> = new Set(['unloaded', 'loadFailed'])

export function createIsolateHost(settings: IsolateHostSettings): IsolateHost {
  const { clock, logger, limits, slot, number, source, services, pluginCalls, createQueue } = settings
  const loaded = createDeferred<undefined>()
  const tasks = createQueue()
  const life: IsolateLife = { running: false, abandoned: false, ending: false, over: false, released: false }
  const dispatcher = createOperationDispatcher({
    ...{ clock, logger, limits, services, plugin: source.id, stored: source.keyValues },
    answer(answered, answer) {
      if (!life.over) slot.post({ kind: 'result', isolate: number, number: answered, answer })
    },
    deliver: (...frame) => deliveries.connection(...frame),
    later: queue,
  })
  const warn = (message: string): void => dispatcher.log('warn', message)
  const flow = createFlow(limits.deliveryBytes)
  const deliveries = createDeliveries({
    isolate: number,
    flow,
    post: (message, transfer) => slot.post(message, transfer),
    monotonic: clock.monotonic,
    notice: limits.slowdownNotice,
    warn,
  })
  const answer = createQuestionAnswers({ isolate: number, services, pluginCalls, warn })
  const controlRequests = createControlRequests(clock, limits.controlDeadline)
  const hookRequests = createHookRequests()
  const backpressure = createBackpressure({
    ...{ clock, limits, warn, limitReached: dispatcher.limitReached },
    congested: () => services.congested(),
    deliveries: () => services.deliveries(),
    giveCredit(credits) {
      if (life.over || credits === 0) return
      flow.giveCredit(credits)
      slot.post({ kind: 'credit', isolate: number })
    },
  })

  const batchTask = (batch: Extract<IsolateMessage, { kind: 'batch' }>): Task =>
    createBatchTask({
      batch,
      dispatcher,
      over: () => life.over,
      nonsense: (errors) => logger.error('A plugin worker asked for nonsense', { plugin: source.id, errors }),
      taken: backpressure.batchTaken,
    })

  const isolateEnd = createIsolateEnd({
    ...{ host: settings, life, loaded, dispatcher, tasks },
    ...{ deliveries, controlRequests, hookRequests, backpressure },
  })

  pluginCalls.join({
    isolate: number,
    id: source.id,
    worker: slot.worker,
    post: (message, transfer) => slot.postUrgent(message, transfer),
    signal: slot.signal,
    isLimited: [limits.operationsPerSecond, limits.bytesPerSecond].some(Number.isFinite),
    serving: () => flow.serving(),
    charged(victim, { code }) {
      const message = `it ended ${victim}, which served its call (${code})`
      services.charged(new IsolateError('ended_another', message))
    },
    refuseUse: (plugin) => services.refuseUse(plugin),
  })

  const receive = dispatchByKind<Exclude<IsolateMessage, { kind: 'question' | 'abandon' | 'batch' }>>({
    loaded: () => loaded.resolve(undefined),
    loadFailed({ code, failure }) {
      life.released = true
      const { message, traceback } = cutTexts(failure)
      void isolateEnd.end(new IsolateError(code, message, traceback))
    },
    overran: isolateEnd.overran,
    controlAnswered: ({ request, outcome }) => controlRequests.answered(request, withShortMessage(outcome)),
    hookAnswered: ({ request, outcome }) => hookRequests.answered(request, outcome),
    unloaded: ({ resources }) => isolateEnd.unloaded(resources),
    callAnswered: ({ call, outcome }) => pluginCalls.answered(number, call, withShortMessage(outcome)),
    linkedAnswer: ({ caller, number: asked, outcome }) =>
      pluginCalls.answeredOnLink(number, caller, asked, withShortMessage(outcome)),
    release: ({ releases }) => pluginCalls.release(number, releases),
  })

  /** What comes after a batch has to wait until the batch is done. */
  function queue(task: () => void): void {
    tasks.add(() => {
      if (!life.over) task()
      return true
    })
  }

  slot.attach(number, {
    receive(message) {
      if (life.ending || (life.abandoned && !lastWords.has(message.kind))) return
      if (message.kind !== 'batch') queue(() => receive(message))
      else if (message.operations.length > 0) tasks.add(batchTask(message))
    },
    answer(question, reply) {
      const isCall = question.kind === 'callPlugin'
      const bytes = isCall ? serializedSize(question.serialized) : 0
      const answering = isCall && question.background ? backpressure.background : backpressure.answer
      queue(() => answering(bytes, () => answer(question, reply)))
    },
    died: isolateEnd.died,
  })

  /** Has a setter called, and answers what it answered. */
  async function ask(id: string, message: (request: number) => HostMessage): Promise<Json | undefined> {
    if (!life.running) throw notRunning(source.id)
    return controlRequests.ask(id, (request) => slot.post(message(request)))
  }

  return {
    get ending() {
      return life.ending
    },
    ended: isolateEnd.ended,
    resources: () => dispatcher.resources,
    isolation: slot.isolation,
    usage: () => ({
      plugin: source.id,
      isolation: slot.isolation,
      worker: slot.worker,
      memoryLimit: slot.heapMegabytes * 1024 * 1024,
      ...slot.usage(),
    }),
    async load() {
      slot.post({
        kind: 'load',
        isolate: number,
        source,
        limits: ownersLimits(limits),
        cleanupTime: limits.cleanupTime,
        callDeadline: limits.callDeadline,
        outsideBytes: outsideBytes(limits, slot.isolation === 'dedicated' ? slot.heapMegabytes : undefined),
        flow: flow.buffer,
      })
      const late = (): IsolateError => loadTimeout(limits)
      try {
        await withCountedDeadline(clock, limits.loadDeadline, loaded.promise, late)
      } catch (error) {
        await isolateEnd.abandon(
          error instanceof IsolateError ? error : new IsolateError('worker_died', messageOf(error)),
        )
        throw error
      }
      life.running = true
      pluginCalls.publish(number, true)
      slot.watch(true)
    },
    deliverEvent(name, data, from) {
      if (life.running) deliveries.event(name, data, from)
    },
    deliverSchedule(schedule) {
      if (life.running) deliveries.trigger('schedule', schedule, '', new Uint8Array())
    },
    deliverWatched(watch, path, change) {
      if (life.running) deliveries.trigger('watch', watch, path, change)
    },
    deliverMessage(subscription, topic, payload) {
      if (life.running) deliveries.message(subscription, topic, payload)
    },
    setControl: (id, value) =>
      ask(id, (request) => ({ kind: 'setControl', isolate: number, request, id, value })),
    async setExposed(id, feature, value) {
      await ask(id, (request) => ({ kind: 'setExposed', isolate: number, request, id, feature, value }))
    },
    takeHook: (handler, hook, signal) =>
      hookRequests.ask(
        signal,
        (request) => slot.post({ kind: 'hook', isolate: number, request, handler, hook }, [hook.body.buffer]),
        (request) => slot.post({ kind: 'hookEnded', isolate: number, request }),
      ),
    unload: isolateEnd.unload,
    close: isolateEnd.close,
  }
}

/** What a worker says went wrong is shown to people, and handed on to other plugins. */
function withShortMessage<T extends { ok: true } | { ok: false; message: string }>(outcome: T): T {
  return outcome.ok ? outcome : { ...outcome, message: cutText(outcome.message) }
}
