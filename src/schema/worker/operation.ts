import Type, { type Static } from 'typebox'
import { ConnectionTarget, isEventId, overlongParts } from '../outside/connection.ts'
import { Exposure } from '../plugin/exposure.ts'
import { HookDeclaration } from '../outside/hook.ts'
import { createKindParser, type OfKinds } from '../parsing/kind-parser.ts'
import { OutsideCall } from '../outside/outside.ts'
import { Resources } from '../plugin/plugin.ts'
import { Uint32 } from './plugin-call.ts'
import { LimitName } from '../plugin/plugin-limits.ts'
import { AnyJson, Count, ForeignCaller, Name, Topic } from './worker-fields.ts'
import { oneOf } from '../parsing/one-of.ts'

/** An entry of a key-value store; `expiresAt` in milliseconds since the epoch, absent: for ever. */
export const KeyValue = Type.Object({
  value: AnyJson,
  expiresAt: Type.Optional(Type.Number()),
  secure: Type.Optional(Type.Boolean()),
})
export type KeyValue = Static<typeof KeyValue>

/**
 * What a plugin asks of the host, by `kind`: the members besides that. Operations travel in batches, in the order in which
 * Lua made them, and between them its events and messages (`message-frames.ts`).
 */
export const operationMembers = {
  /** The plugin has now at least one / no listener of this event. */
  subscribeEvent: { name: Name },
  unsubscribeEvent: { name: Name },
  /** `subscription`: a number of the isolate's own; two with one filter are two. */
  subscribeTopic: { subscription: Count, filter: Topic },
  unsubscribeTopic: { subscription: Count },
  /** `id`: of an object its path. */
  removeValue: {
    of: oneOf(['object', 'sensor', 'control']),
    id: Name,
  },
  /** Exposes it, or says that it is another now: it has more features, or turned out to be on or off. */
  setExposure: { id: Name, exposure: Exposure },
  removeExposure: { id: Name },
  /** Asked from outside at this path; another handler of the same path is gone. `handler`: a number of the isolate's own. */
  setHttpHandler: { handler: Count, hook: HookDeclaration },
  removeHttpHandler: { handler: Count },
  /** What `setSchedule` and `watch` have set up; numbers are the isolate's own. */
  removeSchedule: { schedule: Uint32 },
  unwatch: { watch: Uint32 },
  /** Without `entry`: the key is deleted. */
  setKeyValue: { key: Name, entry: Type.Optional(KeyValue) },
  /** Answered later, with `result` of the same number. */
  call: { number: Count, call: OutsideCall, foreignCaller: ForeignCaller },
  /** Nobody waits for the answer any more. */
  cancel: { number: Count },
  /** A number is used once. */
  openConnection: { connection: Uint32, target: ConnectionTarget, foreignCaller: ForeignCaller },
  closeConnection: { connection: Uint32 },
  /** The plugin has taken so many more bytes of what has come. */
  connectionTaken: { connection: Uint32, bytes: Count },
  /** Something in what a session has brought has more bytes than it may. */
  connectionOverlong: { connection: Uint32, session: Uint32, what: Type.Enum([...overlongParts]) },
  /** Answers `closed` of a stream over HTTP: from where it goes on, and after how many milliseconds at the soonest. */
  connectionContinues: {
    connection: Uint32,
    lastEventId: Type.Refine(Type.String(), isEventId),
    wait: Count,
  },
  /** The plugin has met a limit; said once for each. */
  limitReached: { limit: LimitName },
  /** Counted from the isolate's own tables; sent when a count has changed. */
  resources: { resources: Resources },
} as const

export type Operation = OfKinds<typeof operationMembers>
export const parseOperation = createKindParser(operationMembers)
