import type { KindHandlers } from '../base/dispatch-by-kind.ts'
import type { Json } from '../base/text/json.ts'
import type { SerializedJson } from '../base/text/serialized-json.ts'
import type { Connection, ConnectionListener, ConnectionTarget } from '../schema/outside/connection.ts'
import type { HookOutcome, HookRequest } from '../schema/outside/hook.ts'
import type { DeliveryOptions, ValueKind } from '../schema/worker/message-frames.ts'
import type { OutsideAnswer, OutsideCall } from '../schema/outside/outside.ts'
import type { LogEntry, Resources } from '../schema/plugin/plugin.ts'
import type { ChosenLimits, LimitName, PluginLimits } from '../schema/plugin/plugin-limits.ts'
import type { IsolateUsage } from '../schema/api/system.ts'
import type { Operation } from '../schema/worker/operation.ts'
import type { Answers, Question, QuestionOf } from '../schema/worker/question.ts'
import type { LoadSource } from '../schema/worker/worker-protocol.ts'

/** The host's side of one plugin's isolate: what `lifecycle` sees of `sandbox`. */

/** All that a plugin needs to run. */
export interface IsolateSource extends LoadSource {
  /** What the host's owner has set for it; the rest is as for every plugin. */
  limits?: ChosenLimits
}

/** Operations that the sandbox itself has no part in, but for counting them. */
export type HostOperation = Exclude<
  Operation,
  {
    kind:
      | 'limitReached'
      | 'resources'
      | 'call'
      | 'cancel'
      | 'openConnection'
      | 'closeConnection'
      | 'connectionTaken'
      | 'connectionOverlong'
      | 'connectionContinues'
  }
>

/** Likewise questions; what is thrown is the answer, too. */
export type HostQuestion = Exclude<Question, { kind: 'findPlugin' | 'callPlugin' | 'handOver' }>
type HostAnswers = {
  [K in HostQuestion['kind']]: (question: QuestionOf<K>) => Answers[K] | Promise<Answers[K]>
}

/** What a plugin asks of the host. Calls come in the order in which Lua made them, and never after `closed`. */
export interface IsolateServices extends KindHandlers<HostOperation>, HostAnswers {
  log(line: SerializedJson<LogEntry>): void
  /** `caller`: the plugin that has emitted it through this one's instance. */
  emit(name: string, data: SerializedJson, options: DeliveryOptions, caller?: string): void
  publish(topic: string, payload: Uint8Array, options: DeliveryOptions): void
  /**
   * `id`: of an object its path, relative to the plugin (`weather.now`). `undefined`: the getter of a sensor or control
   * has given none yet. Of an exposure all its values, after `setExposure`; of an event, what has just happened.
   */
  setValue(kind: ValueKind, id: string, value: SerializedJson | undefined): void
  /**
   * Resolves when those who read what was emitted and published have caught up; a plugin that floods gets no further
   * credit before that (nor later than a second from then). Undefined: nobody is behind.
   */
  congested(): Promise<void> | undefined
  /** Deliveries to plugins that followed from what this one said, since it was asked last. */
  deliveries(): number
  /** The plugin has met one of its limits, whose value is this; once for each. */
  limitReached(limit: LimitName, value: number): void
  /**
   * Takes its time; `signal` says that nobody waits for the answer any more. `foreignCaller`: the full id of the plugin
   * that has called a method of the host on this one's instance; then both have to be allowed to do it.
   */
  request(call: OutsideCall, signal: AbortSignal, foreignCaller?: string): Promise<OutsideAnswer>
  /** Connects to a machine elsewhere, for as long as the plugin wants. `foreignCaller`: as above. */
  connect(target: ConnectionTarget, listener: ConnectionListener, foreignCaller?: string): Connection
  /**
   * The plugin takes too much of the worker that it shares. It does nothing any more until it is unloaded; when
   * it is loaded again it gets a worker of its own.
   */
  moveAway(reason: string): void
  /** The plugin has ended another one, which served its call; it is to go. */
  charged(error: IsolateError): void
  /** Full ids of the installed plugins that a full or a short id names, sorted. */
  installedAs(id: string): string[]
  /** Why the plugin may not get hold of another one, in a sentence; undefined: it may. */
  refuseUse(plugin: string): string | undefined
}

/** Why a plugin did not load, or stopped without being asked. `code` goes into the plugin's `error`. */
export class IsolateError extends Error {
  override readonly name = 'IsolateError'
  readonly code: IsolateErrorCode
  /** Lua traceback, or empty. */
  readonly traceback: string

  constructor(code: IsolateErrorCode, message: string, traceback = '', options: { cause?: unknown } = {}) {
    super(message, options)
    this.code = code
    this.traceback = traceback
  }
}

export const isolateErrorCodes = [
  'lua_error', // syntax error, or the chunk or onInit raised
  'plugin_id_mismatch', // Plugin:new with another id than the manifest's
  'load_timeout', // chunk and onInit took longer than allowed
  'unresponsive', // the worker stopped answering: an endless loop
  'out_of_memory',
  'machine_out_of_memory', // it had most of it when hardly any was left
  'worker_died',
  'neighbour_ended', // another plugin took its worker along, as a neighbour or by a call; not this one's fault
  'ended_another', // it has ended another plugin, which served its call
  'overran', // took too much time of a shared worker while it was being loaded; never leaves the sandbox
  'overfilled', // the same of its memory
  'worker_full', // its load found no room in a worker that others fill; never leaves the sandbox
] as const
export type IsolateErrorCode = (typeof isolateErrorCodes)[number]

export interface Isolate {
  /** Counted in the worker, as of the last message from it. */
  resources(): Readonly<Resources>
  readonly isolation: 'dedicated' | 'shared'
  /** Memory and load, as of the last sign of life from the worker. */
  usage(): IsolateUsage
  /** `data`: JSON. `from`: the full id of who has emitted it. */
  deliverEvent(name: string, data: Uint8Array, from?: string): void
  /** The time of this schedule has come. */
  deliverSchedule(schedule: number): void
  /** `change`: JSON, `[value, previous]`. */
  deliverWatched(watch: number, path: string, change: Uint8Array): void
  deliverMessage(subscription: number, topic: string, payload: Uint8Array): void
  /** Runs the control's setter; answers the value afterwards. Rejects with `Problem` when Lua refuses. */
  setControl(id: string, value: Json): Promise<Json | undefined>
  /** Sets a feature of an exposure to a value that fits it. Rejects with `Problem` when Lua refuses. */
  setExposed(id: string, feature: string, value: Json): Promise<void>
  /**
   * Has a handler answer. Resolves when the plugin is done with it: `signal` says that nobody waits for the answer any
   * more. Never rejects.
   */
  takeHook(handler: number, request: HookRequest, signal: AbortSignal): Promise<HookOutcome>
  /**
   * onCleanup, then everything the plugin has, then the worker. Always finishes, within seconds; what the
   * plugin still held afterwards is zero by count. Idempotent.
   */
  unload(): Promise<void>
  /** It is ending, and what the plugin had is taken back: `ended` follows. */
  readonly ending: boolean
  /** Settles once, when the isolate has ended: with the reason when nobody asked for it, else undefined. */
  readonly ended: Promise<IsolateError | undefined>
}

export interface Sandbox {
  /** What a plugin may take for which nothing else has been set. */
  readonly limits: PluginLimits
  /** What every isolate takes, by the order in which they were started. */
  usage(): IsolateUsage[]
  /** Functions and tables of plugins that are in the hands of other plugins now. */
  readonly references: number
  /**
   * Runs the chunk and onInit. Rejects with `IsolateError`; then everything is cleaned up already. `signal` ends
   * a load that is under way; afterwards it means nothing.
   */
  load(source: IsolateSource, services: IsolateServices, signal?: AbortSignal): Promise<Isolate>
  /**
   * So many plugins are loaded in a moment: workers that they will share are started beforehand. With 0, those end that
   * nobody needed. Throws nothing.
   */
  expect(plugins: number): Promise<void>
  close(): Promise<void>
}
