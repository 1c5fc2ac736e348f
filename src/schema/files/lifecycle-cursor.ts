import Type, { type Static } from 'typebox'
import { createParser } from '../parsing/parser.ts'
import { nullable } from '../parsing/nullable.ts'

/** `.host.lifecycle`: how far another broker has been told of the journal. */
export const LifecycleCursor = Type.Object({
  version: Type.Literal(1),
  /** As `brokerName` of `schema/names/broker-url.ts` says. */
  broker: Type.String(),
  /** First level(s) of the topics on which it was told. */
  root: Type.String(),
  /** Number of the last event that it has taken; 0: none. */
  seq: Type.Integer({ minimum: 0 }),
  /** That event's id, by which another journal is noticed; null: it is not known. */
  event: nullable(Type.String()),
})
export type LifecycleCursor = Static<typeof LifecycleCursor>

export const parseLifecycleCursor = createParser(LifecycleCursor)
