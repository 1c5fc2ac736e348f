import Type, { type Static } from 'typebox'
import { createParser } from '../parsing/parser.ts'

/** The names under which a host publishes at a broker; with others, what it has retained there is found no more. */
export const PublishedNames = Type.Object({
  hostId: Type.String(),
  /** First level(s) of the host's own topics. */
  root: Type.String({ minLength: 1 }),
  /** First level(s) of Home Assistant's; empty: it is told nothing. */
  prefix: Type.String(),
  /** As `brokerName` of `schema/names/broker-url.ts` says. */
  broker: Type.String(),
  /** Another host was seen to live there: what is there is not this one's to clear. */
  inhabited: Type.Optional(Type.Literal(true)),
})
export type PublishedNames = Static<typeof PublishedNames>

/** `present`: those that were told last; `former`: under which something may still be retained, the oldest first. */
export const NamesFile = Type.Object({
  version: Type.Literal(1),
  present: PublishedNames,
  former: Type.Array(PublishedNames),
})
export type NamesFile = Static<typeof NamesFile>

export const parseNamesFile = createParser(NamesFile)
