import Type, { type Static } from 'typebox'
import { nullable } from '../parsing/nullable.ts'
import {
  hookAnswerLimit,
  hookAuths,
  hookMethodPattern,
  hookMethodsLimit,
  hookPathLimit,
} from './hook-limits.ts'
import { Bytes, HeaderBlock } from './outside.ts'
import { Text } from '../parsing/text.ts'
import { oneOf } from '../parsing/one-of.ts'

export * from './hook-limits.ts'

/** Requests from outside, on their way to a handler of a plugin, and its answer. */

/** What a plugin wants to be asked about. */
export const HookDeclaration = Type.Object({
  path: Text(hookPathLimit),
  auth: Type.Enum([...hookAuths]),
  /** Absent: all. */
  methods: Type.Optional(
    Type.Array(Type.String({ pattern: hookMethodPattern }), { minItems: 1, maxItems: hookMethodsLimit }),
  ),
})
export type HookDeclaration = Static<typeof HookDeclaration>

/** A request as its handler gets it. */
export interface HookRequest {
  method: string
  /** As it came, without `?`. */
  query: string
  /** Names in lower case, each once; the characters of values are bytes (Latin-1). */
  headers: [name: string, value: string][]
  body: Uint8Array<ArrayBuffer>
  /** Address of whoever asks. */
  remote: string
}

const AnswerBody = Type.Refine(Bytes, (bytes) => bytes.byteLength <= hookAnswerLimit)

/** What came of it. `failed`: the handler raised an error, which is in the log; `ended`: nobody is going to answer. */
export const HookOutcome = Type.Union([
  Type.Object({
    ok: Type.Literal(true),
    status: Type.Integer({ minimum: 200, maximum: 599 }),
    headers: HeaderBlock,
    body: Type.Optional(AnswerBody),
  }),
  Type.Object({
    ok: Type.Literal(false),
    reason: oneOf(['failed', 'ended']),
  }),
])
export type HookOutcome = Static<typeof HookOutcome>

/** An address of a plugin as its owner sees it; `url` has the secret in it. */
export const HookView = Type.Object({
  path: Type.String(),
  url: Type.String({ description: 'The whole address, with the secret part where it needs one' }),
  auth: oneOf(hookAuths),
  methods: nullable(Type.Array(Type.String()), { description: 'null: all' }),
})
export type HookView = Static<typeof HookView>
