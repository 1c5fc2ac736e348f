import Type, { type Static } from 'typebox'
import { ConnectionTarget, isEventId, overlongParts } from '../outside/connection.ts'
import { Exposure } from '../plugin/exposure.ts'
import { HookDeclaration } from '../outside/hook.ts'
import { createKindParser } from '../parsing/kind-parser.ts'
import { OutsideCall } from '../outside/outside.ts'
import type { Parsed } from '../parsing/parser.ts'
import { Resources } from '../plugin/plugin.ts'
import { Uint32 } from './plugin-call.ts'
import { LimitName } from '../plugin/plugin-limits.ts'
import { AnyJson, Count, ForeignCaller, Name, Topic } from './worker-fields.ts'

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

export const parseOperation: (value: unknown) => Parsed<Operation> = createKindParser(operationSchemas)
