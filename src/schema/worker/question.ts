import Type, { type Static } from 'typebox'
import type { Json } from '../../base/text/json.ts'
import { HookDeclaration } from '../outside/hook.ts'
import { Port } from '../outside/outside.ts'
import {
  ForeignCallPermission,
  PluginCall,
  type PluginSummary,
  Reference,
  type SerializedValues,
  serializedReferenceLimit,
  Uint32,
} from './plugin-call.ts'
import { Text, textLimits } from '../parsing/text.ts'
import { Schedule, Watch } from '../outside/trigger.ts'
import { ForeignCaller, Name, PluginId, Topic } from './worker-fields.ts'

/** Something that the worker waits for, synchronously. */
export const Question = Type.Union([
  /**
   * An object of any plugin by `plugins.<ns>.<short>.<path>` or `@ns/id:path`. Here and below: `foreignCaller` is the plugin
   * that has called a method of the host on this one's instance.
   */
  Type.Object({ kind: Type.Literal('lookUpObject'), fullPath: Name, foreignCaller: ForeignCaller }),
  /** Why the foreign caller may not publish or subscribe through this plugin, if so. */
  Type.Object({
    kind: Type.Literal('refuseForeignCall'),
    foreignCaller: PluginId,
    permission: ForeignCallPermission,
    value: Topic,
  }),
  /** Why the plugin may not connect there. */
  Type.Object({
    kind: Type.Literal('refuseConnection'),
    host: Text(textLimits.hostName),
    port: Port,
    foreignCaller: ForeignCaller,
  }),
  /** All that are installed, for `Plugin.list()`. */
  Type.Object({ kind: Type.Literal('listPlugins') }),
  /** Sets it up, or answers why not; a number is used once. */
  Type.Object({ kind: Type.Literal('setSchedule'), number: Uint32, schedule: Schedule }),
  Type.Object({ kind: Type.Literal('watch'), number: Uint32, watch: Watch, foreignCaller: ForeignCaller }),
  /** The address of a handler of this plugin, when it is good for ever: its secret is on disk. */
  Type.Object({ kind: Type.Literal('hookAddress'), hook: HookDeclaration }),
  /** A running plugin by its full id, or by its short id when only one that is installed has it. */
  Type.Object({ kind: Type.Literal('findPlugin'), id: Name }),
  PluginCall,
  /** Counts what an isolate has handed over to another one in its worker, after all that it has sent before. */
  Type.Object({
    kind: Type.Literal('handOver'),
    to: Uint32,
    references: Type.Array(Reference, { maxItems: serializedReferenceLimit }),
  }),
])
export type Question = Static<typeof Question>
export type QuestionKind = Question['kind']
export type QuestionOf<K extends QuestionKind> = Extract<Question, { kind: K }>

/** `secret`: the part of it that no log line may show. */
export interface HookAddress {
  url: string
  secret?: string
}

/** What each question is answered with. */
export interface Answers {
  lookUpObject: Json | undefined
  refuseForeignCall: string | undefined
  refuseConnection: string | undefined
  listPlugins: PluginSummary[]
  setSchedule: string | undefined
  watch: string | undefined
  hookAddress: HookAddress
  findPlugin: Reference | undefined
  callPlugin: SerializedValues
  handOver: undefined
}
export type Answer = Answers[keyof Answers]
