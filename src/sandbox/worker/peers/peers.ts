import { lazily } from '../../../base/lazily.ts'
import type { Redactor } from '../../../base/log/redaction.ts'
import { flowCells } from '../../../schema/worker/shared-cells.ts'
import type { PluginCallOutcome, Reference, SerializedValues } from '../../../schema/worker/plugin-call.ts'
import { callDepthLimit, type PluginOperation } from '../../../schema/worker/plugin-call-limits.ts'
import type { LoadSource, WorkerMessage } from '../../../schema/worker/worker-protocol.ts'
import type { QuestionClient } from '../questions/question-client.ts'
import type { LuaFunction, LuaRuntime, LuaTable, LuaValue } from '../lua/lua-value.ts'
import type { ReceivedCall } from '../calls/local-calls.ts'
import { failureOf, type PluginLog } from '../plugin-log.ts'
import { NoAnswer, PeerGone } from '../questions/pending-questions.ts'
import type { Steps } from '../lua/steps.ts'
import type { ResourceRegistry } from '../limits/resource-registry.ts'
import { createCallbackQueues } from './callback-queues.ts'
import { createEndedPeers } from './ended-peers.ts'
import { createExportTable } from './export-table.ts'
import type { ForeignCallers } from '../limits/foreign-callers.ts'
import { createHandover, type Received } from './handover.ts'
import { createImportTable } from './import-table.ts'
import { createOperations, fillTable } from './operations.ts'
import { createPrivacy } from './privacy.ts'
import { createProxies } from './proxies.ts'
import { createServedCalls, type Served } from './served-calls.ts'

/** Other plugins, as this one sees them, and this one, as they see it. */
export interface Peers {
  /** The running plugin of this id, or undefined. The plugin itself is its own instance. */
  find(id: string): Steps<LuaValue>
  /**
   * Calls `remove` when the plugin that a callback belongs to has ended. Answers how to take that back, or
   * undefined for a function of this plugin, with which there is nothing to do.
   */
  whenGone(what: string, callback: LuaFunction, remove: () => void): (() => void) | undefined
  /** The other plugin that a function belongs to; undefined for this plugin's own. */
  ownerOf(callback: LuaFunction): FunctionOwner | undefined
  /**
   * Has a function of another plugin called after all that its plugin was to be told before, while this one goes on;
   * `settled` hears of the end, with what was raised. False, and nothing happens, for this plugin's own function.
   */
  callLater(callback: LuaFunction, args: readonly LuaValue[], settled: (error?: Error) => void): boolean
  serve(message: ReceivedCall): Steps<PluginCallOutcome>
  drop(handle: number, sent: number): void
  ended(isolate: number): void
  /** These came too late, or for nothing. */
  refuse(references: readonly Reference[]): void
}

export interface FunctionOwner {
  /** Full id. */
  plugin: string
  /** It has ended. */
  gone: boolean
}

export interface PeersSettings extends Pick<QuestionClient, 'ask' | 'waitFor' | 'begin'> {
  isolate: number
  flow: Int32Array
  source: LoadSource
  runtime: LuaRuntime
  log: PluginLog
  redactor: Redactor
  resources: ResourceRegistry
  foreignCallers: ForeignCallers
  instance(): LuaTable | undefined
  config(): LuaValue
  post(message: WorkerMessage): void
}

export function createPeers(settings: PeersSettings): Peers {
  const { isolate, flow, source, runtime, log, redactor } = settings
  const exported = createExportTable(settings.instance)
  const imported = createImportTable(
    createProxies(runtime, callOut, (value) => imported.referenceOf(value)),
    (releases) => settings.post({ kind: 'release', isolate, releases }),
  )
  const handover = createHandover({ isolate, plugin: source.id, runtime, exported, imported })
  const endedPeers = createEndedPeers(log)
  const queues = createCallbackQueues()
  /** Isolates whose queue was full, of which the log has a line. */
  const told = new Set<number>()
  /** Calls within calls that have led to what runs now. */
  let depth = 0
  const operations = createOperations(runtime)
  /** Made with the first call of another plugin. */
  const servedCalls = lazily(() =>
    createServedCalls({
      runtime,
      operations,
      privacy: createPrivacy({
        providedAs: runtime.providedAs,
        instance: settings.instance,
        config: settings.config,
        secrets: redactor.secrets,
      }),
      foreignCallers: settings.foreignCallers,
      isHandedOver: exported.has,
      copyOf,
    }),
  )

  const notRunning = ({ plugin }: Reference): Error => new Error(`plugin not running: ${plugin}`)

  function* callOut(
    reference: Reference,
    operation: PluginOperation,
    args: readonly LuaValue[],
    most = Number.POSITIVE_INFINITY,
  ): Steps<LuaValue[]> {
    const { owner, handle } = reference
    if (endedPeers.has(owner)) throw notRunning(reference)
    const callDepth = depth + 1
    if (callDepth > callDepthLimit)
      throw new Error(`calls between plugins are nested more than ${callDepthLimit} deep`)
    const packing = { given: true }
    const serialized = handover.packFlat(args, packing) ?? (yield* handover.pack(args, packing))
    try {
      const question = { kind: 'callPlugin', owner, handle, operation, depth: callDepth, serialized } as const
      const { bytes, flat, unpack } = (yield settings.waitFor(question, handover.receive)) as Received
      if (bytes > most) throw new Error(`the object takes ${bytes} of at most ${most} bytes`)
      return flat ?? (yield* unpack())
    } catch (error) {
      throw failureOfCall(reference, error)
    }
  }

  function failureOfCall(reference: Reference, error: unknown): Error {
    if (error instanceof NoAnswer)
      return new Error(`${reference.plugin} did not answer ${error.within}`, { cause: error })
    if (!(error instanceof PeerGone)) return error instanceof Error ? error : new Error(String(error))
    ended(error.isolate)
    return notRunning(reference)
  }

  function callLater(
    reference: Reference,
    args: readonly LuaValue[],
    settled: (error?: Error) => void,
  ): void {
    const { owner, handle, plugin } = reference
    if (endedPeers.has(owner)) {
      settled(notRunning(reference))
      return
    }
    const serialized = runtime.complete(handover.pack(args, { given: true }))
    const taken = queues.add({
      owner,
      serialized,
      kept: serialized.references.length > 0 ? args : [],
      send: (next) =>
        settings.begin(
          { kind: 'callPlugin', owner, handle, operation: 'call', depth: 1, serialized, background: true },
          ({ references }) => {
            handover.refuse(references)
            settled()
            next()
          },
          (error) => {
            settled(failureOfCall(reference, error))
            next()
          },
        ),
      discard: () => handover.takeBack(serialized.references),
    })
    if (taken || told.has(owner)) return
    told.add(owner)
    log.write(
      'warn',
      `callbacks of ${plugin} are left out: it handles them more slowly than they come`,
      plugin,
    )
  }

  function* copyOf(value: LuaTable, most: number): Steps<LuaTable | undefined> {
    const reference = imported.referenceOf(value)
    if (reference === undefined) return undefined
    return fillTable(runtime.newTable(), yield* callOut(reference, 'entries', [], most))
  }

  function* perform({ caller, handle, operation, serialized }: ReceivedCall): Steps<SerializedValues> {
    const { bytes, flat, unpack } = handover.receive(serialized)
    const target = exported.find(handle)
    if (target === undefined) throw new Error('this object is not there any more')
    const args = flat ?? (yield* unpack())
    const { ownMethod, serve } = servedCalls()
    const callee = operation === 'invoke' ? ownMethod(target, args[0]) : undefined
    const { values, withheld }: Served =
      callee === undefined
        ? yield* serve({ caller, target, operation, args, bytes })
        : { values: (yield { kind: 'call', callee, args: args.slice(1) }) as LuaValue[] }
    const packing = { given: false, withheld }
    return handover.packFlat(values, packing) ?? (yield* handover.pack(values, packing))
  }

  function ended(owner: number): void {
    if (endedPeers.end(owner)) queues.end(owner)
  }

  settings.resources.add('handedOver', {
    count: exported.count,
    release() {
      queues.close()
      exported.clear()
      imported.clear()
      endedPeers.clear()
    },
  })

  return {
    ended,
    drop: exported.drop,
    *find(id) {
      if (id === source.id) return settings.instance()
      return yield* settings.ask({ kind: 'findPlugin', id }, (found) => found && handover.resolve(found))
    },
    ownerOf(callback) {
      const reference = imported.referenceOf(callback)
      return reference && { plugin: reference.plugin, gone: endedPeers.has(reference.owner) }
    },
    callLater(callback, args, settled) {
      const reference = imported.referenceOf(callback)
      if (reference === undefined) return false
      try {
        callLater(reference, args, settled)
      } catch (error) {
        // The arguments cannot go to another plugin.
        settled(error instanceof Error ? error : new Error(String(error)))
      }
      return true
    },
    whenGone(what, callback, remove) {
      const reference = imported.referenceOf(callback)
      if (reference === undefined) return undefined
      return endedPeers.whenGone(what, reference, remove)
    },
    *serve(message) {
      const before = { serving: Atomics.load(flow, flowCells.serving), depth }
      depth = message.depth
      // What the plugin has asked others to call is its own doing.
      const { call, callerIsolate } = message
      if (!exported.isGiven(message.handle))
        Atomics.store(flow, flowCells.serving, callerIsolate === undefined ? call : -callerIsolate)
      try {
        return { ok: true, serialized: yield* perform(message) }
      } catch (error) {
        const failure = failureOf(error)
        log.write('debug', `call of ${message.caller}: ${failure.message}\n${failure.traceback}`.trimEnd())
        return { ok: false, message: redactor.redactMessage(failure.message) }
      } finally {
        Atomics.store(flow, flowCells.serving, before.serving)
        depth = before.depth
      }
    },
    refuse: handover.refuse,
  }
}
