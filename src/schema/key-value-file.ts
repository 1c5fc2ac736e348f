import Type, { type Static } from 'typebox'
import { createParser } from './parser.ts'

/** A plugin's key-value store as it is on disk. `expiresAt` is in milliseconds since the epoch. */
export const KeyValueFile = Type.Object({
  version: Type.Literal(1),
  entries: Type.Record(
    Type.String(),
    Type.Object({
      value: Type.Unknown(),
      expiresAt: Type.Optional(Type.Number()),
      secure: Type.Optional(Type.Boolean()),
    }),
  ),
})
export type KeyValueFile = Static<typeof KeyValueFile>

export const parseKeyValueFile = createParser(KeyValueFile)
