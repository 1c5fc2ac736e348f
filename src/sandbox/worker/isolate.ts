import { flowCells } from '../../schema/flow-cells.ts'
import { createRetainedAccount, pluginRetainedLimits } from '../../schema/retained-account.ts'
import type { Resources } from '../../schema/plugin.ts'
import type {
  Answers,
  HostMessage,
  Operation,
  Question,
  WorkerMessage,
} from '../../schema/worker-protocol.ts'
import { type ByteBudget, createByteBudget } from './byte-budget.ts'
import { createInbox } from './inbox.ts'
import { createLuaRuntime } from './lua/lua-runtime.ts'
import type { LuaRuntime } from './lua/lua-value.ts'
import { fromPlain, toPlain, toStored } from './lua/plain.ts'
import { createLimitGuard } from './limit-guard.ts'
import { createLuaEntry } from './lua-entry.ts'
import { createOutbox } from './outbox.ts'
import { createOutsideCalls } from './outside-calls.ts'
import { createPeers, type Peers, type PeersSettings } from './peers/peers.ts'
import { bytesFor, createForeignCallers, type CallerAwareFunction } from './peers/foreign-callers.ts'
import { isTable, typeName } from './plugin-api/arguments.ts'
import { installPluginApi } from './plugin-api/plugin-api.ts'
import type { SetOutcome } from './plugin-api/points.ts'
import type { PluginContext } from './plugin-context.ts'
import { createFrameReader } from '../../schema/message-frames.ts'
import { createPluginLog, failureOf } from './plugin-log.ts'
import type { PeerMessage, QuestionChannel } from './question-channel.ts'
import { createRedactor } from '../../base/redaction.ts'
import { createResourceRegistry } from './resource-registry.ts'
import { createTimeBudget } from './time-budget.ts'
import { createTurnBudget } from './turn-budget.ts'
import type { Excess, Turns } from './turns.ts'
import { workerClock } from './worker-clock.ts'

type LoadMessage = Extract<HostMessage, { kind: 'load' }>
/** What the host says to one isolate after its load. */
export type DeliveredMessage = Exclude<Extract<HostMessage, { isolate: number }>, LoadMessage>

/** One plugin in its Lua state. */
export interface WorkerIsolate {
  /** Runs the chunk and the init callback, and says what came of it. */
  load(): void
  receive(message: DeliveredMessage): void
  /** Does what another plugin wants. */
  serve(message: PeerMessage): void
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
  /** Called once, when nothing of the isolate is left. */
  closed(): void
}

type FailureCode = Extract<WorkerMessage, { kind: 'loadFailed' }>['code']

const entryFile = 'init.lua'

export function createWorkerIsolate(settings: WorkerIsolateSettings): WorkerIsolate {
  const { message: setup, post, questions, turns } = settings
  const { isolate, source, budgets } = setup
  const flow = new Int32Array(setup.flow)
  const clock = workerClock
  const ownBudget = createTimeBudget(clock.monotonic)
  const budget = turns === undefined ? ownBudget : createTurnBudget(ownBudget, turns, isolate)
  const resources = createResourceRegistry()
  const redactor = createRedactor(source.secrets)
  const outbox = createOutbox({
    ...{ isolate, flow: setup.flow, post },
    complete: changedResources,
    impatient: turns && (() => turns.excess(isolate) !== undefined),
  })
  const log = createPluginLog(outbox.sendFrame, redactor)
  const limits = createLimitGuard(setup.limits, outbox.send)
  const inbox = createInbox(clock.monotonic, (error) => log.failure('delivery', error))
  const calls = createOutsideCalls(outbox.send, outbox.schedule, limits.httpRequests, (service) => {
    if (service === 'http') limits.reached('httpRequests')
  })
  const afterInit: (() => void)[] = []
  /** None have been said: the first ones are sent in any case. */
  let sentCounts: Partial<Resources> = {}
  let isLoaded = false

  const runtime: LuaRuntime = createLuaRuntime({
    print: (line) => log.write('info', line),
    now: clock.now,
    checkInterrupt: budget.check,
    stringLimitBytes: limits.stringBytes,
    outsideLimitBytes: setup.outsideBytes,
    stringLimitMet: (of) => limits.reached(of === 'one' ? 'stringBytes' : 'memory'),
  })
  const entry = createLuaEntry({
    runtime,
    budget,
    milliseconds: budgets.callback,
    log,
    callLater: (callee, args, settled) => peers.callLater(callee, args, settled),
    ownerOf: (callee) => peers.ownerOf(callee),
    left: () => {
      if (budget.inside) return
      if (budget.exceeded) limits.reached('callbackTime')
      outbox.schedule()
    },
  })
  const pluginClass = runtime.newTable()
  const foreignCallers = createForeignCallers(runtime)

  function ask<K extends Question['kind'], T>(
    question: Extract<Question, { kind: K }>,
    accept: (answer: Answers[K]) => T,
  ): T {
    // What Lua did before it asked has happened when the host answers.
    outbox.flush()
    const impatient = turns && (() => turns.excess(isolate) !== undefined)
    return budget.excuse(() => questions.ask(isolate, question, budgets.call, accept, impatient))
  }

  const begin: PeersSettings['begin'] = (question, accept, failed) => {
    outbox.flush()
    return questions.begin(isolate, question, budgets.call, accept, failed)
  }

  const peers: Peers = createPeers({
    ...{
      isolate,
      flow,
      source,
      runtime,
      entry,
      log,
      redactor,
      resources,
      foreignCallers,
      pluginClass,
      post,
      ask,
      begin,
    },
    instance: () => api.plugin.instance,
    config: () => api.plugin.config,
    depth: () => questions.depth,
  })

  function addCallerAwareMethod(name: string, implementation: CallerAwareFunction): void {
    const full = `plugin:${name}`
    runtime.provide(pluginClass, name, full, () =>
      foreignCallers.method(full, (foreignCaller, self, ...args) => {
        if (!isTable(self)) {
          throw new Error(
            `call it with a colon, plugin:${name}(…): the first argument is a ${typeName(self)}`,
          )
        }
        return implementation(foreignCaller, ...args)
      }),
    )
  }

  /** One string of Lua takes no more, so nothing that becomes one may be larger. */
  const byteBudget = (): ByteBudget => createByteBudget(bytesFor(foreignCallers.current, limits.stringBytes))

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
    pluginClass,
    retain: (foreignCaller, topic, payload) =>
      retained.take(topic, payload, foreignCaller === undefined ? 1 : 0.5),
    send: outbox.send,
    sendFrame: outbox.sendFrame,
    touch: outbox.schedule,
    ask: (question) => ask(question, (found) => found),
    addMethod: (name, implementation) =>
      addCallerAwareMethod(name, (_foreignCaller, ...args) => implementation(...args)),
    addCallerAwareMethod,
    refuseForeignCall: (foreignCaller, permission, value) =>
      foreignCaller === undefined
        ? undefined
        : context.ask({ kind: 'refuseForeignCall', foreignCaller, permission, value }),
    byteBudget,
    toJson: (value) => toPlain(value, byteBudget()),
    toStored: (value) => toStored(value, byteBudget()),
    fromJson: (value) => (value === undefined ? undefined : fromPlain(runtime, value)),
    afterInit: (callback) => void afterInit.push(callback),
  }
  const api = installPluginApi(context)
  peers.begin()

  function changedResources(): Operation[] {
    const counts: Resources = resources.counts()
    const kinds = Object.keys(counts) as (keyof Resources)[]
    if (kinds.every((kind) => counts[kind] === sentCounts[kind])) return []
    sentCounts = counts
    return [{ kind: 'resources', resources: counts }]
  }

  /** Why the plugin does not run, or undefined when it does. */
  function start(): Extract<WorkerMessage, { kind: 'loadFailed' }> | undefined {
    const failed = (code: FailureCode, error: unknown) => {
      const { message, traceback } = failureOf(error)
      const failure = {
        message: redactor.redactMessage(message),
        traceback: redactor.redactMessage(traceback),
      }
      return { kind: 'loadFailed' as const, isolate, code, failure }
    }
    const chunk = source.files[entryFile]
    if (chunk === undefined) return failed('lua_error', `the manifest's files name no ${entryFile}`)
    try {
      return budget.run(budgets.load, () => {
        runtime.run(chunk, entryFile)
        const { claimedId } = api.plugin
        if (claimedId === undefined) {
          return failed(
            'lua_error',
            `${entryFile} did not call Plugin:new("${source.shortId}", …), so there is no plugin`,
          )
        }
        if (claimedId !== source.id && claimedId !== source.shortId) {
          return failed(
            'plugin_id_mismatch',
            `${entryFile} calls Plugin:new("${claimedId}"), but the manifest names ${source.id}; use "${source.shortId}"`,
          )
        }
        api.plugin.runInit()
        return undefined
      })
    } catch (error) {
      if (turns?.excess(isolate) !== undefined) return failed('overran', error)
      if (budget.exceeded) limits.reached('loadTime')
      return failed(budget.exceeded ? 'load_timeout' : 'lua_error', error)
    }
  }

  function releaseEverything(): void {
    inbox.close()
    for (const error of resources.releaseAll()) log.failure('clean-up', error)
  }

  function finish(last: WorkerMessage): void {
    outbox.flush()
    outbox.close()
    post(last)
    settings.closed()
  }

  function unload(): void {
    inbox.close()
    calls.giveUp()
    turns?.renew(isolate)
    try {
      budget.run(budgets.cleanup, () => api.plugin.runCleanup())
    } catch (error) {
      log.failure('onCleanup', error)
    }
    releaseEverything()
    finish({ kind: 'unloaded', isolate, resources: resources.counts() })
  }

  function handled(cost: number): void {
    Atomics.add(flow, flowCells.handled, cost)
  }

  /** Delivers one at a time. */
  function deliveryTask(frames: Uint8Array): () => boolean {
    const reader = createFrameReader(frames)
    return () => {
      const before = reader.left
      const frame = reader.next()
      if (frame === undefined) return true
      handled(before - reader.left)
      const { kind, name, subscription, payload } = frame
      try {
        if (kind === 'event') api.events.deliver(name, payload)
        else api.mqtt.deliver(subscription, name, payload)
      } catch (error) {
        log.failure('delivery', error)
      }
      return reader.left === 0
    }
  }

  function answer(request: number, outcome: SetOutcome): void {
    outbox.flush()
    post({
      kind: 'controlAnswered',
      isolate,
      request,
      outcome: outcome.ok
        ? { ok: true, ...(outcome.value === undefined ? {} : { value: outcome.value }) }
        : { ...outcome, message: redactor.redactMessage(outcome.message) },
    })
  }

  return {
    refuse: peers.refuse,
    exceeded(excess) {
      // One that is being loaded says so when the load fails.
      if (isLoaded) post({ kind: 'overran', isolate, excess })
    },
    serve(message) {
      if (message.kind === 'drop') peers.drop(message.handle, message.sent)
      else if (message.kind === 'peerEnded') {
        peers.ended(message.ended)
        outbox.schedule()
      } else {
        const outcome = peers.serve(message)
        // What the call has done has happened when the caller goes on.
        outbox.flush()
        post({ kind: 'callAnswered', isolate, call: message.call, outcome })
      }
    },
    load() {
      const failure = start()
      if (failure === undefined) {
        for (const callback of afterInit) callback()
        outbox.flush()
        post({ kind: 'loaded', isolate })
        isLoaded = true
        turns?.loaded(isolate)
        return
      }
      releaseEverything()
      finish(failure)
    },
    receive(message) {
      switch (message.kind) {
        case 'deliver':
          inbox.add(deliveryTask(message.frames))
          break
        case 'setControl':
          answer(message.request, api.points.setControl(message.id, message.value))
          break
        case 'setExposed':
          answer(message.request, api.exposures.set(message.id, message.feature, message.value))
          break
        case 'result':
          inbox.add(() => {
            calls.receive(message.number, message.answer)
            return true
          })
          break
        case 'unload':
          unload()
          break
        case 'credit':
          outbox.schedule()
          break
      }
    },
  }
}
