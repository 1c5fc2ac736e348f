import Type, { type Static } from 'typebox'
import { isJson, type Json } from '../../base/text/json.ts'
import { createParser, type Parsed } from '../parsing/parser.ts'

/** A plugin's stored values, as they are on disk and in the store of a fleet. */

export interface KeyValueEntry {
  value: Json
  /** Milliseconds since the epoch; absent: for ever. */
  expiresAt?: number
  secure?: boolean
}

export function isAlive({ expiresAt }: KeyValueEntry, now: number): boolean {
  return expiresAt === undefined || expiresAt > now
}

/** Without what has expired. */
export function aliveEntries(
  entries: ReadonlyMap<string, KeyValueEntry>,
  now: number,
): Record<string, KeyValueEntry> {
  const alive = Object.create(null) as Record<string, KeyValueEntry>
  for (const [key, entry] of entries) if (isAlive(entry, now)) alive[key] = entry
  return alive
}

const Entries = Type.Record(
  Type.String(),
  Type.Object({
    value: Type.Unknown(),
    expiresAt: Type.Optional(Type.Number()),
    secure: Type.Optional(Type.Boolean()),
  }),
)
/** Of the form in which files are written. */
export const storeVersion = 2

/**
 * The file of a single host. Version 2 has a checksum, as a line of the journal, and may have all its entries in one
 * encrypted text: `sealed`, their JSON.
 */
const KeyValueFile = Type.Object({
  version: Type.Union([Type.Literal(1), Type.Literal(storeVersion)]),
  entries: Entries,
})
const SealedKeyValueFile = Type.Object({ version: Type.Literal(storeVersion), sealed: Type.String() })
export const parseKeyValueFile = createParser(KeyValueFile)
export const parseSealedKeyValueFile = createParser(SealedKeyValueFile)

/** The entries in what has been parsed, by their keys. Throws a sentence at what they cannot be. */
export function entriesIn(parsed: Parsed<{ entries: Static<typeof Entries> }>): Map<string, KeyValueEntry> {
  if (!parsed.ok) throw new Error(parsed.errors.map(({ path, message }) => `${path} ${message}`).join('; '))
  const found = Object.entries(parsed.value.entries)
  const deep = found.find(([, { value }]) => !isJson(value))
  if (deep !== undefined) throw new Error(`/entries/${deep[0]} nests too deep`)
  // Checked just now.
  return new Map(found as [string, KeyValueEntry][])
}

/**
 * The record of a plugin's values in the store of a fleet. `epoch`: whose writes count. `write`: names this write, and no
 * other. The entries are in `sealed`, or in `parts` that are written before it, under names that are used once; neither:
 * there are none. `slices`: messages of a part, which may be larger than one.
 */
export const FleetValues = Type.Object({
  version: Type.Literal(1),
  epoch: Type.Integer({ minimum: 0 }),
  write: Type.String({ minLength: 1 }),
  sealed: Type.Optional(Type.String()),
  parts: Type.Optional(
    Type.Array(
      Type.Union([
        Type.Null(),
        Type.Object({
          id: Type.String({ pattern: '^[0-9]+-[0-9a-f-]+$' }),
          slices: Type.Integer({ minimum: 1 }),
        }),
      ]),
    ),
  ),
})
export type FleetValues = Static<typeof FleetValues>
export const parseFleetValues = createParser(FleetValues)
