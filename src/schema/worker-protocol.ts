import type { MessagePort } from 'node:worker_threads'
import Type, { type Static, type TSchema } from 'typebox'
import { isJson, type Json } from '../base/json.ts'
import { messageOf } from '../base/problem.ts'
import { readFromWorker } from './call-frames.ts'
import { Exposure } from './exposure.ts'
import { ConnectionTarget, isEventId, overlongParts } from './connection.ts'
import { creditLimit } from './flow-cells.ts'
import { HookDeclaration, HookOutcome, type HookRequest } from './hook.ts'
import { type OutsideAnswer, OutsideCall } from './outside.ts'
import { createParser, type Parsed } from './parser.ts'
import { type Config, Resources } from './plugin.ts'
import { LimitName, type PluginLimits } from './plugin-limits.ts'
import {
  type SerializedValues,
  PluginCall,
  PluginCallOutcome,
  type PluginSummary,
  Reference,
  Release,
  serializedReferenceLimit,
  Uint32,
  ForeignCallPermission,
} from './plugin-call.ts'
import { Text, textLimits } from './text.ts'
import type { PluginTopicRights } from './topic-rights.ts'
import { Schedule, Watch } from './trigger.ts'
import type { TurnRules } from './turn-cells.ts'

/**
 * What the host and a plugin worker say to each other (`src/sandbox/README.md` tells how). A worker holds
 * isolates by number. What a worker says is parsed; the host's own words are trusted by the worker.
 */

/** A structured clone carries more than JSON: what no listener could write down is refused where it comes in. */
const isJsonOrNothing = (value: unknown): boolean => value === undefined || isJson(value)
const AnyJson = Type.Refine(Type.Unsafe<Json>({}), isJsonOrNothing)
const Count = Type.Integer({ minimum: 0 })
/** Full id of a plugin. */
const PluginId = Text(textLimits.pluginId)
const ForeignCaller = Type.Optional(PluginId)
const Name = Text(textLimits.name)
const Topic = Text(textLimits.topic)
/** Cut by the host (`cutTexts`), never a reason to refuse what it is a part of. */
const Shown = Type.String()
/** An entry of a key-value store; `expiresAt` in milliseconds since the epoch, absent: for ever. */
export const KeyValue = Type.Object({
  value: AnyJson,
  expiresAt: Type.Optional(Type.Number()),
  secure: Type.Optional(Type.Boolean()),
})
export type KeyValue = Static<typeof KeyValue>

/**
 * What a plugin asks of the host, by `kind`. They travel in batches, in the order in which Lua made them, and between
 * them its events and messages (`message-frames.ts`).
 */
export const operationSchemas = {
  subscribeEvent: Type.Object({ kind: Type.Literal('subscribeEvent'), name: Name }),
  unsubscribeEvent: Type.Object({ kind: Type.Literal('unsubscribeEvent'), name: Name }),
  subscribeTopic: Type.Object({
    kind: Type.Literal('subscribeTopic'),
    subscription: Count,
    filter: Topic,
  }),
  unsubscribeTopic: Type.Object({ kind: Type.Literal('unsubscribeTopic'), subscription: Count }),
  /** `id`: of an object its path. */
  removeValue: Type.Object({
    kind: Type.Literal('removeValue'),
    of: Type.Union([Type.Literal('object'), Type.Literal('sensor'), Type.Literal('control')]),
    id: Name,
  }),
  /** Exposes it, or says that it is another now: it has more features, or turned out to be on or off. */
  setExposure: Type.Object({ kind: Type.Literal('setExposure'), id: Name, exposure: Exposure }),
  removeExposure: Type.Object({ kind: Type.Literal('removeExposure'), id: Name }),
  /** Asked from outside at this path; another handler of the same path is gone. `handler`: a number of the isolate's own. */
  setHttpHandler: Type.Object({
    kind: Type.Literal('setHttpHandler'),
    handler: Count,
    hook: HookDeclaration,
  }),
  removeHttpHandler: Type.Object({ kind: Type.Literal('removeHttpHandler'), handler: Count }),
  /** What `setSchedule` and `watch` have set up; numbers are the isolate's own. */
  removeSchedule: Type.Object({ kind: Type.Literal('removeSchedule'), schedule: Uint32 }),
  unwatch: Type.Object({ kind: Type.Literal('unwatch'), watch: Uint32 }),
  /** Without `entry`: the key is deleted. */
  setKeyValue: Type.Object({
    kind: Type.Literal('setKeyValue'),
    key: Name,
    entry: Type.Optional(KeyValue),
  }),
  /** Answered later, with `result` of the same number. */
  call: Type.Object({
    kind: Type.Literal('call'),
    number: Count,
    call: OutsideCall,
    foreignCaller: ForeignCaller,
  }),
  /** Nobody waits for the answer any more. */
  cancel: Type.Object({ kind: Type.Literal('cancel'), number: Count }),
  /** A number is used once. */
  openConnection: Type.Object({
    kind: Type.Literal('openConnection'),
    connection: Uint32,
    target: ConnectionTarget,
    foreignCaller: ForeignCaller,
  }),
  closeConnection: Type.Object({ kind: Type.Literal('closeConnection'), connection: Uint32 }),
  /** The plugin has taken so many more bytes of what has come. */
  connectionTaken: Type.Object({
    kind: Type.Literal('connectionTaken'),
    connection: Uint32,
    bytes: Count,
  }),
  /** Something in what a session has brought has more bytes than it may. */
  connectionOverlong: Type.Object({
    kind: Type.Literal('connectionOverlong'),
    connection: Uint32,
    session: Uint32,
    what: Type.Enum([...overlongParts]),
  }),
  /** Answers `closed` of a stream over HTTP: from where it goes on, and after how many milliseconds at the soonest. */
  connectionContinues: Type.Object({
    kind: Type.Literal('connectionContinues'),
    connection: Uint32,
    lastEventId: Type.Refine(Type.String(), isEventId),
    wait: Count,
  }),
  /** The plugin has met a limit; said once for each. */
  limitReached: Type.Object({ kind: Type.Literal('limitReached'), limit: LimitName }),
  /** Counted from the isolate's own tables; sent when a count has changed. */
  resources: Type.Object({ kind: Type.Literal('resources'), resources: Resources }),
} as const

type OperationKind = keyof typeof operationSchemas
export type Operation = { [K in OperationKind]: Static<(typeof operationSchemas)[K]> }[OperationKind]

/** Something that the worker waits for, synchronously. */
export const Question = Type.Union([
  /** Here and below: `foreignCaller` is the plugin that has called a method of the host on this one's instance. */
  Type.Object({ kind: Type.Literal('lookUpObject'), fullPath: Name, foreignCaller: ForeignCaller }),
  /** Why the foreign caller may not do it, if so. */
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
    port: Type.Integer({ minimum: 1, maximum: 0xffff }),
    foreignCaller: ForeignCaller,
  }),
  Type.Object({ kind: Type.Literal('listPlugins') }),
  /** Sets it up, or answers why not; a number is used once. */
  Type.Object({ kind: Type.Literal('setSchedule'), number: Uint32, schedule: Schedule }),
  Type.Object({ kind: Type.Literal('watch'), number: Uint32, watch: Watch, foreignCaller: ForeignCaller }),
  /** The address of a handler of this plugin. */
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

const Isolate = { isolate: Count }
const Failure = Type.Object({ message: Shown, traceback: Shown })

/** What a worker says to the host, by `kind`. */
export const workerMessageSchemas = {
  ready: Type.Object({ kind: Type.Literal('ready') }),
  /** `memory`: bytes of the worker's own heap, and of what it keeps outside of it. */
  pong: Type.Object({ kind: Type.Literal('pong'), sequence: Count, memory: Type.Optional(Count) }),
  loaded: Type.Object({ kind: Type.Literal('loaded'), ...Isolate }),
  loadFailed: Type.Object({
    kind: Type.Literal('loadFailed'),
    ...Isolate,
    code: Type.Union([
      Type.Literal('lua_error'),
      Type.Literal('plugin_id_mismatch'),
      Type.Literal('load_timeout'),
      Type.Literal('overran'),
    ]),
    failure: Failure,
  }),
  /**
   * It takes too much of the worker that it shares, and is stopped at every turn until it is unloaded; or, in one of
   * its own, it keeps more than it may outside the heap.
   */
  overran: Type.Object({
    kind: Type.Literal('overran'),
    ...Isolate,
    excess: Type.Union([Type.Literal('time'), Type.Literal('memory')]),
    /** The call that it served then, as in `flowCells.serving`. */
    serving: Type.Integer(),
  }),
  /**
   * Each operation is parsed by its own schema, so that one bad one does not take the others along; one that is bytes
   * is frames.
   */
  batch: Type.Object({
    ...{ kind: Type.Literal('batch'), ...Isolate, operations: Type.Array(Type.Unknown()) },
    /** Credits that it took; the host gives them back when it has taken the batch. */
    credits: Type.Integer({ minimum: 0, maximum: creditLimit }),
  }),
  controlAnswered: Type.Object({
    kind: Type.Literal('controlAnswered'),
    ...Isolate,
    request: Count,
    outcome: Type.Union([
      Type.Object({ ok: Type.Literal(true), value: Type.Optional(AnyJson) }),
      Type.Object({
        ok: Type.Literal(false),
        reason: Type.Union([Type.Literal('unknown'), Type.Literal('refused')]),
        message: Shown,
      }),
    ]),
  }),
  /** Said once of each request, also of one that nobody waits for any more. */
  hookAnswered: Type.Object({
    kind: Type.Literal('hookAnswered'),
    ...Isolate,
    request: Count,
    outcome: HookOutcome,
  }),
  /** The last word of an isolate; `resources` is what its tables hold after the clean-up. */
  unloaded: Type.Object({ kind: Type.Literal('unloaded'), ...Isolate, resources: Resources }),
  question: Type.Object({ kind: Type.Literal('question'), ...Isolate, number: Uint32, question: Question }),
  /** Nobody waits for the answer any more. */
  abandon: Type.Object({ kind: Type.Literal('abandon'), ...Isolate, number: Count }),
  callAnswered: Type.Object({
    kind: Type.Literal('callAnswered'),
    ...Isolate,
    call: Uint32,
    outcome: PluginCallOutcome,
  }),
  release: Type.Object({ kind: Type.Literal('release'), ...Isolate, releases: Type.Array(Release) }),
} as const

type WorkerMessageKind = keyof typeof workerMessageSchemas
export type WorkerMessage = {
  [K in WorkerMessageKind]: Static<(typeof workerMessageSchemas)[K]>
}[WorkerMessageKind]
/** What a worker says of one isolate. */
export type IsolateMessage = Extract<WorkerMessage, { isolate: number }>

/** All that an isolate needs to run. */
export interface LoadSource {
  id: string
  shortId: string
  namespace: string
  name: string
  version: string
  description: string | null
  files: Record<string, Uint8Array>
  config: Config
  secrets: string[]
  keyValues: Record<string, KeyValue>
  controls: { id: string; type?: string | undefined; range?: string | undefined }[]
  /** The host refuses what they do not allow: the worker only tells Lua so at once. */
  topics: PluginTopicRights
  /** Whether a handler may be there for anybody. */
  publicHooks: boolean
  /** What it has retained: topics, with the bytes of their payloads. The worker counts on from there, like the host. */
  retained: [topic: string, payload: number][]
}

/** What one isolate may have: bytes of one Lua string and of the key-value store, and counts of things. */
export type WorkerLimits = Omit<
  PluginLimits,
  'memory' | 'callbackTime' | 'loadTime' | 'operationsPerSecond' | 'operationBurst' | 'bytesPerSecond'
>

/** How long each entry into Lua may take, in milliseconds. */
export interface LuaBudgets {
  load: number
  callback: number
  cleanup: number
  /** For another plugin's answer to a call, and for the host's to any other question. */
  call: number
}

/** What the host says to a worker. */
export type HostMessage =
  | {
      kind: 'load'
      isolate: number
      source: LoadSource
      budgets: LuaBudgets
      limits: WorkerLimits
      /** Bytes that the worker may have outside its heap, most of them Lua strings. */
      outsideBytes: number
      /** See `flow-cells.ts`. */
      flow: SharedArrayBuffer
    }
  /** Events, messages, and what comes of connections, as frames. */
  | { kind: 'deliver'; isolate: number; frames: Uint8Array<ArrayBuffer> }
  | { kind: 'setControl'; isolate: number; request: number; id: string; value: Json }
  /** Answered as a control is, with `controlAnswered`; the value is typed and within its bounds. */
  | { kind: 'setExposed'; isolate: number; request: number; id: string; feature: string; value: Json }
  /** A request from outside, answered with `hookAnswered`. */
  | { kind: 'hook'; isolate: number; request: number; handler: number; hook: HookRequest }
  /** Nobody waits for the answer any more. */
  | { kind: 'hookEnded'; isolate: number; request: number }
  | { kind: 'result'; isolate: number; number: number; answer: OutsideAnswer }
  | { kind: 'unload'; isolate: number }
  /** There is credit again; the number of it is in the flow cells. */
  | { kind: 'credit'; isolate: number }
  | { kind: 'ping'; sequence: number }

/** What comes on the port that a worker also reads while it waits: answers, and calls of other plugins. */
export type UrgentMessage =
  | { kind: 'answer'; isolate: number; number: number; ok: true; value?: Answer }
  /** `gone`: because that isolate has ended. */
  | { kind: 'answer'; isolate: number; number: number; ok: false; message: string; gone?: number }
  | ({ kind: 'call'; isolate: number; call: number; caller: string } & Pick<
      PluginCall,
      'handle' | 'operation' | 'depth' | 'serialized'
    >)
  /** The caller does not wait any more; a call that has not begun is not made. */
  | { kind: 'cancelCall'; isolate: number; call: number }
  /** Nobody holds it any more, after it has been handed out `sent` times. */
  | { kind: 'drop'; isolate: number; handle: number; sent: number }
  /** An isolate of which this one holds something has ended. */
  | { kind: 'peerEnded'; isolate: number; ended: number }

/** What a worker is started with. */
export interface WorkerSetup {
  /** Carries `UrgentMessage`s. */
  urgent: MessagePort
  /** One Int32 that grows with every urgent message; what a waiting worker sleeps on. */
  signal: SharedArrayBuffer
  /** Only in a worker that isolates share. */
  turns?: TurnRules
}

function createKindParser<T>(schemas: Record<string, TSchema>): (value: unknown) => Parsed<T> {
  const parsers = new Map(Object.entries(schemas).map(([kind, schema]) => [kind, createParser(schema)]))
  return (value) => {
    const kind = typeof value === 'object' && value !== null && 'kind' in value ? value.kind : undefined
    const parse = typeof kind === 'string' ? parsers.get(kind) : undefined
    if (parse === undefined) return { ok: false, errors: [{ path: '/kind', message: 'is not a known kind' }] }
    return parse(value) as Parsed<T>
  }
}

const parseMessageObject = createKindParser<WorkerMessage>(workerMessageSchemas)
/** Of a call between plugins as an object or as a frame. */
export function parseWorkerMessage(value: unknown): Parsed<WorkerMessage> {
  try {
    return parseMessageObject(readFromWorker(value))
  } catch (error) {
    return { ok: false, errors: [{ path: '', message: messageOf(error) }] }
  }
}
export const parseOperation: (value: unknown) => Parsed<Operation> = createKindParser(operationSchemas)
