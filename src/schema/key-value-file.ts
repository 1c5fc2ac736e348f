import Type, { type Static } from 'typebox'
import { createParser } from './parser.ts'

/**
 * A plugin's key-value store as it is on disk. `expiresAt` is in milliseconds since the epoch. Version 2 has a
 * checksum, as a line of the journal, and may have all its entries in one encrypted text.
 */
const Entries = Type.Record(
  Type.String(),
  Type.Object({
    value: Type.Unknown(),
    expiresAt: Type.Optional(Type.Number()),
    secure: Type.Optional(Type.Boolean()),
  }),
)

export const KeyValueFile = Type.Object({
  version: Type.Union([Type.Literal(1), Type.Literal(2)]),
  entries: Entries,
})
export type KeyValueFile = Static<typeof KeyValueFile>

/** `sealed`: the JSON text of the entries. */
export const SealedKeyValueFile = Type.Object({ version: Type.Literal(2), sealed: Type.String() })

export const parseKeyValueFile = createParser(KeyValueFile)
export const parseSealedKeyValueFile = createParser(SealedKeyValueFile)
