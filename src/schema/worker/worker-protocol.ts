import type { MessagePort } from 'node:worker_threads'
import Type from 'typebox'
import type { Json } from '../../base/text/json.ts'
import { messageOf } from '../../base/problem.ts'
import { readFromWorker } from './call-frames.ts'
import { creditLimit, type TurnRules } from './shared-cells.ts'
import { HookOutcome, type HookRequest } from '../outside/hook.ts'
import { createKindParser, type OfKinds } from '../parsing/kind-parser.ts'
import type { KeyValue } from './operation.ts'
import type { OutsideAnswer } from '../outside/outside.ts'
import type { Parsed } from '../parsing/parser.ts'
import { type Config, Resources } from '../plugin/plugin.ts'
import { type PluginCall, PluginCallOutcome, Release, Uint32 } from './plugin-call.ts'
import type { PluginLimits } from '../plugin/plugin-limits.ts'
import { type Answer, Question } from './question.ts'
import type { PluginTopicRights } from '../manifest/topic-rights.ts'
import { AnyJson, Count, Shown } from './worker-fields.ts'
import { oneOf } from '../parsing/one-of.ts'

/**
 * What the host and a plugin worker say to each other (`src/sandbox/README.md` tells how). A worker holds
 * isolates by number. What a worker says is parsed; the host's own words are trusted by the worker.
 */

const Isolate = { isolate: Count }
const Failure = Type.Object({ message: Shown, traceback: Shown })

/** What a worker says to the host, by `kind`: the members besides that. */
export const workerMessageMembers = {
  ready: {},
  /** Its memory is in `signalCells` then. */
  pong: { sequence: Count },
  /** Somebody has a turn in a shared worker for which the host does not beat. */
  resumeBeats: {},
  loaded: Isolate,
  loadFailed: {
    ...Isolate,
    code: oneOf(['lua_error', 'plugin_id_mismatch', 'load_timeout', 'overran', 'overfilled', 'worker_full']),
    failure: Failure,
  },
  /**
   * It takes too much of the worker that it shares, and is stopped at every turn until it is unloaded; or, in one of
   * its own, it keeps more than it may outside the heap. `machine memory`: it has most of a worker in which there is room, as the
   * machine has none.
   */
  overran: {
    ...Isolate,
    excess: oneOf(['time', 'memory', 'machine memory']),
    /** The call that it served then, as in `flowCells.serving`. */
    serving: Type.Integer(),
  },
  /**
   * Each operation is parsed by its own schema, so that one bad one does not take the others along; one that is bytes
   * is frames.
   */
  batch: {
    ...Isolate,
    operations: Type.Array(Type.Unknown()),
    /** Credits that it took; the host gives them back when it has taken the batch. */
    credits: Type.Integer({ minimum: 0, maximum: creditLimit }),
  },
  controlAnswered: {
    ...Isolate,
    request: Count,
    outcome: Type.Union([
      Type.Object({ ok: Type.Literal(true), value: Type.Optional(AnyJson) }),
      Type.Object({
        ok: Type.Literal(false),
        reason: oneOf(['unknown', 'refused']),
        message: Shown,
      }),
    ]),
  },
  /** Said once of each request, also of one that nobody waits for any more. */
  hookAnswered: { ...Isolate, request: Count, outcome: HookOutcome },
  /** The last word of an isolate; `resources` is what its tables hold after the clean-up. */
  unloaded: { ...Isolate, resources: Resources },
  question: { ...Isolate, number: Uint32, question: Question },
  /** Nobody waits for the answer any more. */
  abandon: { ...Isolate, number: Count },
  callAnswered: { ...Isolate, call: Uint32, outcome: PluginCallOutcome },
  /** What came of a call on a link, when something is handed over or the host has not taken yet what was sent before. */
  linkedAnswer: { ...Isolate, caller: Uint32, number: Uint32, outcome: PluginCallOutcome },
  release: { ...Isolate, releases: Type.Array(Release) },
} as const

export type WorkerMessage = OfKinds<typeof workerMessageMembers>
/** What a plugin takes too much of. */
export type Excess = Extract<WorkerMessage, { kind: 'overran' }>['excess']
/** What a worker says of one isolate. */
export type IsolateMessage = Extract<WorkerMessage, { isolate: number }>

/** All that a plugin needs to run in its worker. */
export interface LoadSource {
  id: string
  shortId: string
  namespace: string
  name: string
  version: string
  description: string | null
  /** Contents of the Lua files that the manifest names, by relative path; `init.lua` is the entry. */
  files: Record<string, Uint8Array>
  /** Effective configuration: defaults and environment applied. */
  config: Config
  /** Secret values that no log line may show. */
  secrets: string[]
  /** The plugin's key-value store as it is on disk. */
  keyValues: Record<string, KeyValue>
  /** What the manifest declares of controls: type and range, for typed setters. */
  controls: { id: string; type?: string | undefined; range?: string | undefined }[]
  /** What Lua may publish and subscribe to. The host refuses the rest: the worker only tells Lua so at once. */
  topics: PluginTopicRights
  /** Whether a handler of requests from outside may be there for anybody; likewise. */
  publicHooks: boolean
  /** What it has retained: topics, with the bytes of their payloads. The worker counts on from there, like the host. */
  retained: [topic: string, payload: number][]
  /** The host of the fleet that it runs on, and under which epoch; absent without a fleet. */
  host?: string | undefined
  epoch?: number | undefined
}

/** What the host says to a worker. */
export type HostMessage =
  | {
      kind: 'load'
      isolate: number
      source: LoadSource
      limits: PluginLimits
      /** Milliseconds of Lua in the clean-up callback. */
      cleanupTime: number
      /** Milliseconds until another plugin has to answer a call, or the host any other question. */
      callDeadline: number
      /** Bytes that the worker may have outside its heap, most of them Lua strings. */
      outsideBytes: number
      /** See `flowCells`. */
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
  /** Of a load, or an unload that takes too long: no further word of the plugin, but `unloaded` of its worker. */
  | { kind: 'abandon'; isolate: number }
  /** There is credit again; the number of it is in the flow cells. */
  | { kind: 'credit'; isolate: number }
  | { kind: 'ping'; sequence: number }
  /** The machine is short of memory. */
  | { kind: 'collectGarbage' }
  /** There is something in `turnCells.short`, for a worker in which nobody has a turn just now. */
  | { kind: 'makeRoom' }

/** What comes on the port that a worker also reads while it waits: answers, and calls of other plugins. */
export type UrgentMessage =
  | { kind: 'answer'; isolate: number; number: number; ok: true; value?: Answer }
  /** `gone`: because that isolate has ended. */
  | { kind: 'answer'; isolate: number; number: number; ok: false; message: string; gone?: number | undefined }
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
  /** From now on it may call that isolate on a link, or be called by it. */
  | LinkSetup
  /** The isolate at the other end of its links has ended. */
  | { kind: 'unlink'; isolate: number; peer: number }
  /** What came of a call on a link, after all that the callee has sent before. */
  | { kind: 'linkedAnswer'; isolate: number; peer: number; number: number; outcome: PluginCallOutcome }

export type AnswerMessage = Extract<UrgentMessage, { kind: 'answer' }>

/** One end of a link between two workers. */
export interface LinkSetup {
  kind: 'link'
  isolate: number
  /** The isolate at the other end, and the full id of its plugin. */
  peer: number
  plugin: string
  /** It is the other one that is called. */
  isCaller: boolean
  port: MessagePort
  /** What the other worker sleeps on. */
  signal: SharedArrayBuffer
  /** See `linkCells`. */
  cells: SharedArrayBuffer
}

/** What a worker is started with. */
export interface WorkerSetup {
  /** Carries `UrgentMessage`s. */
  urgent: MessagePort
  /** See `signalCells`. */
  signal: SharedArrayBuffer
  /** Only in a worker that isolates share. */
  turns?: TurnRules
  /**
   * Milliseconds since its thread began for which it was ready to run, and others had the processors; 0 where the system does not say.
   * Made in the worker itself, where nothing else reads files.
   */
  waited?(): number
}

const parseMessageObject = createKindParser(workerMessageMembers)
/** Of a call between plugins as an object or as a frame. */
export function parseWorkerMessage(value: unknown): Parsed<WorkerMessage> {
  try {
    return parseMessageObject(readFromWorker(value))
  } catch (error) {
    return { ok: false, errors: [{ path: '', message: messageOf(error) }] }
  }
}
