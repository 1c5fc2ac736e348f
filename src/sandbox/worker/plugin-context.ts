import type { Clock } from '../../base/time/clock.ts'
import type { Json } from '../../base/text/json.ts'
import type { HookOutcome } from '../../schema/outside/hook.ts'
import type { ForeignCallPermission } from '../../schema/worker/plugin-call.ts'
import type { FrameWriter } from '../../schema/worker/message-frames.ts'
import type { LoadSource } from '../../schema/worker/worker-protocol.ts'
import type { Operation } from '../../schema/worker/operation.ts'
import type { Answers, QuestionKind, QuestionOf } from '../../schema/worker/question.ts'
import type { HostFunction, LuaFunction, LuaRuntime, LuaTable, LuaValue } from './lua/lua-value.ts'
import type { Steps } from './lua/steps.ts'
import type { ByteBudget } from './budgets/byte-budget.ts'
import type { LimitGuard } from './limits/limit-guard.ts'
import type { LuaEntry } from './lua-entry.ts'
import type { OutsideCalls } from './limits/outside-calls.ts'
import type { Peers } from './peers/peers.ts'
import type { CallerAwareFunction, ForeignCaller, ForeignCallers } from './limits/foreign-callers.ts'
import type { PluginLog } from './plugin-log.ts'
import type { Redactor } from '../../base/log/redaction.ts'
import type { ResourceRegistry } from './limits/resource-registry.ts'

/** Global tables of the plugin API. */
export type TableName = 'Plugin' | 'Logger' | 'JSON' | 'EventBus' | 'Modbus'

/** What each part of the plugin API is built from. A part is a file of `plugin-api/` with one `install…`. */
export interface PluginContext {
  readonly runtime: LuaRuntime
  readonly source: LoadSource
  readonly clock: Clock
  readonly entry: LuaEntry
  readonly log: PluginLog
  readonly redactor: Redactor
  readonly resources: ResourceRegistry
  readonly limits: LimitGuard
  /** To services of the host that take their time. */
  readonly calls: OutsideCalls
  /** Other plugins. */
  readonly peers: Peers
  /** Who calls a method of the host. */
  readonly foreignCallers: ForeignCallers
  /** Globals; what is in `Plugin` is a method of every instance. */
  readonly tables: Readonly<Record<TableName, LuaTable>>
  /**
   * Counts what the plugin retains, as the host does; an empty payload clears the topic. False: there is no room.
   * A foreign caller gets half of it.
   */
  retain(foreignCaller: ForeignCaller, topic: string, payload: number): boolean
  /** Sends an operation to the host, in order. */
  send(operation: Operation): void
  /** Sends what is frequent, in order with the operations. */
  sendFrame(...frame: Parameters<FrameWriter['write']>): void
  /** Answers a request from outside, once. */
  answerHook(request: number, outcome: HookOutcome): void
  /** Says that a count of `resources` may have changed outside Lua. */
  touch(): void
  /** Does it when the plugin has its turn, after what has been delivered before. */
  later(task: () => void): void
  /** Asks the host and waits. Throws when there is no answer. */
  ask<K extends QuestionKind>(question: QuestionOf<K>): Steps<Answers[K]>
  /** The same on the spot, with all that is on the stack: for what has no steps. */
  askNow<K extends QuestionKind>(question: QuestionOf<K>): Answers[K]
  /** What says once of each option of a call that does not exist: a misspelt one would do nothing, without a word. */
  optionCheck(call: string): (args: readonly LuaValue[], foreignCaller?: ForeignCaller) => void
  /** Says how the function of this name (`names.ts`) is made, when somebody uses it first. */
  implement(name: string, make: () => LuaFunction): void
  /** Adds `plugin:name(…)`; the implementation gets the arguments after the instance. */
  addMethod(name: string, implementation: HostFunction): void
  /** The same for one that does not do everything for another plugin. */
  addCallerAwareMethod(name: string, implementation: CallerAwareFunction): void
  /** Why a foreign caller may not do this itself: what it is not allowed is not done in another's name. */
  refuseForeignCall(
    foreignCaller: ForeignCaller,
    permission: ForeignCallPermission,
    value: string,
  ): string | undefined
  /** For a copy or a text that is made now; smaller while another plugin has it made. */
  byteBudget(): ByteBudget
  /**
   * A plain copy of a Lua value, functions left out. Throws on a cycle, and when it is larger than `byteBudget`. What
   * nobody leaves out on purpose is a warning, once for each name: of a `kind` such as `event`.
   */
  toJson(value: LuaValue, kind?: string, name?: string): Json | undefined
  /** The same for what must come back as it was: throws for what has no JSON, and for numbers in tables that have none. */
  toStored(value: Exclude<LuaValue, undefined>): Json
  /** A fresh Lua value; JSON null is nil. */
  fromJson(value: Json | undefined): LuaValue
  /** The same for what may be large. */
  fromJsonInSteps(value: Json | undefined): Steps<LuaValue>
  /** Whether the init callback has come back. */
  isInitialised(): boolean
  /** Is done once it has. */
  afterInit(callback: () => Steps<void>): void
}
