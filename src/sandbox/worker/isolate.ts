import { flowCells } from '../../schema/worker/shared-cells.ts'
import { createRetainedAccount, pluginRetainedLimits } from '../../schema/plugin/retained-account.ts'
import type { Excess, HostMessage, WorkerMessage } from '../../schema/worker/worker-protocol.ts'
import type { Operation } from '../../schema/worker/operation.ts'
import { createQuestionClient } from './questions/question-client.ts'
import { createByteBudget } from './budgets/byte-budget.ts'
import { createDeliveries } from './deliveries.ts'
import { createInbox } from './inbox.ts'
import { createIsolateMessages, type DeliveredMessage } from './isolate-messages.ts'
import { createLuaRuntime } from './lua/lua-runtime.ts'
import type { LuaRuntime } from './lua/lua-value.ts'
import type { Steps } from './lua/steps.ts'
import { fromJson, fromJsonInSteps, toJson, toStoredJson, withoutJson } from './lua/json-values.ts'
import { createLimitGuard } from './limits/limit-guard.ts'
import { createLuaEntry } from './lua-entry.ts'
import { createOutbox } from './outbox.ts'
import { createOutsideCalls } from './limits/outside-calls.ts'
import { createPeers, type Peers } from './peers/peers.ts'
import { byteLimitFor, createForeignCallers } from './limits/foreign-callers.ts'
import { createMethods } from './plugin-api/methods.ts'
import { createOptionChecks } from './plugin-api/option-names.ts'
import { createApiTables } from './plugin-api/plugin-api.ts'
import type { PluginContext } from './plugin-context.ts'
import { startPlugin, type StartFailure } from './plugin-start.ts'
import { withSuggestedFunction } from './plugin-api/misspelt-function.ts'
import { createPluginLog, failureOf } from './plugin-log.ts'
import type { PeerMessage, QuestionChannel } from './questions/question-channel.ts'
import { createRedactor } from '../../base/log/redaction.ts'
import { createResourceRegistry } from './limits/resource-registry.ts'
import type { RunQueue } from './scheduling/run-queue.ts'
import { createTasks } from './scheduling/tasks.ts'
import { openAccount, type TimeBudget } from './budgets/time-budget.ts'
import { createTurnBudget } from './scheduling/turn-budget.ts'
import type { Turns } from './scheduling/turns.ts'
import { workerClock } from './scheduling/worker-clock.ts'

type LoadMessage = Extract<HostMessage, { kind: 'load' }>

/** One plugin in its Lua state. */
export interface WorkerIsolate {
  /** Full id of the plugin. */
  readonly plugin: string
  /** Runs the chunk and the init callback, and says what comes of it. */
  load(): void
  receive(message: DeliveredMessage): void
  /** Does what another plugin wants. */
  serve(message: PeerMessage): void
  /** Leaves out a call of another plugin if it has not begun. */
  cancel(call: number): void
  /** These references came too late. */
  refuse: Peers['refuse']
  /** It takes too much of the worker that it shares. */
  exceeded(excess: Excess): void
}

export interface WorkerIsolateSettings {
  message: LoadMessage
  post(message: WorkerMessage, transfer?: ArrayBuffer[]): void
  questions: QuestionChannel
  /** Only in a worker that it shares with others. */
  turns: Turns | undefined
  queue: RunQueue
  openBudget(): TimeBudget
  /** Called once, when nothing of the isolate is left; `last` is to be posted. */
  closed(last: WorkerMessage): void
}

export function createWorkerIsolate(settings: WorkerIsolateSettings): WorkerIsolate {
  const { message: setup, post, questions, turns, queue } = settings
  const { isolate, source, cleanupTime, callDeadline } = setup
  const flow = new Int32Array(setup.flow)
  const clock = workerClock
  const turn = <T>(task: () => T): T => (turns === undefined ? task() : turns.run(isolate, task))
  const ownBudget = settings.openBudget()
  const budget = turns === undefined ? ownBudget : createTurnBudget(ownBudget, turns, isolate)
  const resources = createResourceRegistry()
  const redactor = createRedactor(source.secrets)
  /** Whether a wait on the spot has taken too long for who shares the worker. */
  const isOverBudget = turns && (() => turns.excess(isolate) !== undefined)
  const outbox = createOutbox({
    ...{ isolate, flow: setup.flow, post, isOverBudget },
    complete: changedResources,
    isSuspended: turns && (() => tasks.isSuspended),
  })
  const log = createPluginLog(outbox.sendFrame, redactor, withSuggestedFunction)
  const optionCheck = createOptionChecks(log)
  const limits = createLimitGuard(setup.limits, outbox.send)
  const inbox = createInbox((error) => log.failure('delivery', error))
  const later = (task: () => void): void => {
    inbox.add(() => {
      task()
      return true
    })
    tasks.schedule()
  }
  const calls = createOutsideCalls(outbox.send, outbox.schedule, later, limits.httpRequests, (service) => {
    if (service === 'http') limits.reached('httpRequests')
  })
  const afterInit: (() => Steps<void>)[] = []
  let isInitialised = false
  let isLoaded = false
  let isWorkerFull = false

  const runtime: LuaRuntime = createLuaRuntime({
    print: (line) => log.write('info', line),
    now: clock.now,
    monotonic: clock.monotonic,
    checkInterrupt: budget.check,
    ...(turns && {
      working: () => void turns.excess(isolate),
      sliceIsOver: queue.sliceIsOver,
      pause: outbox.pause,
      runUncharged: budget.runUncharged,
    }),
    stringLimitBytes: limits.stringBytes,
    outsideLimitBytes: setup.outsideBytes,
    stringLimitMet(of) {
      // While a neighbour that fills the worker is on its way out, nobody else has met a limit of their own.
      isWorkerFull = of === 'all' && turns !== undefined && turns.excess(isolate) !== 'memory'
      if (!isWorkerFull) limits.reached(of === 'one' ? 'stringBytes' : 'memory')
    },
  })
  const tasks = createTasks({
    ...{ runtime, budget, queue, turn },
    preemptive: turns !== undefined,
    monotonic: clock.monotonic,
    milliseconds: limits.callbackTime,
    left({ exceeded }) {
      if (exceeded) limits.reached('callbackTime')
      outbox.schedule()
    },
    moreWork: inbox.work,
    room: turns && outbox.pause,
    failed: (error) => log.failure('task', error),
  })
  const entry = createLuaEntry({
    tasks,
    log,
    callLater: (callee, args, settled) => peers.callLater(callee, args, settled),
    ownerOf: (callee) => peers.ownerOf(callee),
  })
  const { tables, implement, begin: beginApi } = createApiTables(runtime)
  const foreignCallers = createForeignCallers(runtime)

  const asking = createQuestionClient({
    ...{ isolate, questions, flush: outbox.flush, milliseconds: callDeadline, isOverBudget },
    whileBlocked: (wait) => budget.runUncharged(() => tasks.whileWaiting(wait)),
  })
  const { ask, askNow, giveUp } = asking

  const peers: Peers = createPeers({
    ...{ isolate, flow, source, runtime, log, redactor, resources, foreignCallers, post },
    ...asking,
    instance: () => plugin.instance,
    config: () => plugin.config,
  })

  /** One string of Lua takes no more, so nothing that becomes one may be larger. */
  const byteBudget = () => createByteBudget(byteLimitFor(foreignCallers.current, limits.stringBytes))

  const retained = createRetainedAccount(pluginRetainedLimits, source.retained)

  const context: PluginContext = {
    runtime,
    source,
    clock,
    entry,
    log,
    redactor,
    resources,
    limits,
    calls,
    peers,
    foreignCallers,
    retain: (foreignCaller, topic, payload) =>
      retained.take(topic, payload, foreignCaller === undefined ? 1 : 0.5),
    send: outbox.send,
    sendFrame: outbox.sendFrame,
    answerHook(request, outcome) {
      // What the handler has done has happened when whoever asked hears of it.
      outbox.flush()
      const body = outcome.ok && outcome.body !== undefined ? [outcome.body.buffer as ArrayBuffer] : []
      post({ kind: 'hookAnswered', isolate, request, outcome }, body)
    },
    touch: outbox.schedule,
    later,
    ask: (question) => ask(question, (found) => found),
    askNow: (question) => askNow(question, (found) => found),
    optionCheck,
    ...createMethods({ foreignCallers, implement, optionCheck }),
    tables,
    implement,
    refuseForeignCall: (foreignCaller, permission, value) =>
      foreignCaller === undefined
        ? undefined
        : context.askNow({ kind: 'refuseForeignCall', foreignCaller, permission, value }),
    byteBudget,
    toJson: (value, kind, name) =>
      toJson(value, byteBudget(), (what) => {
        if (kind === undefined) return
        const message = (): string => `${kind} '${name}': ${withoutJson(what)}: it counts as nil`
        // By the name alone: a sensor that is exposed is read as both.
        log.warnOnce(`${name}: ${what}`, message, foreignCallers.current)
      }),
    toStored: (value) => toStoredJson(value, byteBudget()),
    fromJson: (value) => fromJson(runtime, value),
    fromJsonInSteps: (value) => fromJsonInSteps(runtime, value),
    isInitialised: () => isInitialised,
    afterInit: (callback) => void afterInit.push(callback),
  }
  const { part } = beginApi(context)
  const plugin = part('plugin')
  resources.add('httpRequests', { count: () => calls.count('http'), release: calls.giveUp })

  function changedResources(): Operation[] {
    const counts = resources.changedCounts()
    return counts === undefined ? [] : [{ kind: 'resources', resources: counts }]
  }

  function refusalOf({ code, error }: StartFailure): WorkerMessage {
    const { redactMessage } = redactor
    const found = failureOf(error)
    const message = redactMessage(withSuggestedFunction(found.message))
    const failure = { message, traceback: redactMessage(found.traceback) }
    return { kind: 'loadFailed', isolate, code, failure }
  }

  function* load(): Steps<void> {
    const failure = yield* startPlugin({
      ...{ source, runtime, plugin, milliseconds: limits.loadTime, onAccount: budget.run },
      ...{ excess: () => turns?.excess(isolate), isWorkerFull: () => isWorkerFull },
      outOfTime: () => limits.reached('loadTime'),
    })
    if (failure !== undefined) {
      releaseEverything()
      finish(refusalOf(failure))
      return
    }
    isInitialised = true
    for (const callback of afterInit) yield* callback()
    outbox.flush()
    post({ kind: 'loaded', isolate })
    isLoaded = true
    turns?.loaded(isolate)
  }

  function releaseEverything(): void {
    inbox.close()
    for (const error of resources.releaseAll()) log.failure('clean-up', error)
  }

  function finish(last: WorkerMessage): void {
    outbox.flush()
    outbox.close()
    tasks.close()
    giveUp()
    settings.closed(last)
  }

  function* unload(): Steps<void> {
    turns?.renew(isolate)
    try {
      // Neighbours may be busy, or the machine, so that it has a part of the time only; the host does not wait longer for that.
      const until = clock.monotonic() + cleanupTime
      yield* plugin.runCleanup(openAccount(cleanupTime, until))
    } catch (error) {
      log.failure('onCleanup', error)
    }
    leave()
  }

  function leave(): void {
    releaseEverything()
    finish({ kind: 'unloaded', isolate, resources: resources.counts() })
  }

  const { receive, serve } = createIsolateMessages({
    ...{ isolate, post, questions, outbox, inbox, tasks, later, calls, peers, redactor, part, unload, leave },
    deliveryOf: createDeliveries({
      part,
      log,
      handled: (cost) => void Atomics.add(flow, flowCells.handled, cost),
    }),
  })

  return {
    plugin: source.id,
    cancel: tasks.cancel,
    refuse: peers.refuse,
    exceeded(excess) {
      // One that is being loaded says so when the load fails.
      const serving = Atomics.load(flow, flowCells.serving)
      if (isLoaded) post({ kind: 'overran', isolate, excess, serving })
    },
    load: () => turn(() => tasks.start(load())),
    receive: (message) => turn(() => receive(message)),
    serve,
  }
}
