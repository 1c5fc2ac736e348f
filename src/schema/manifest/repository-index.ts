import Type, { type Static } from 'typebox'
import type { JsonObject } from '../../base/text/json.ts'
import { ShortId } from '../names/identifier-schema.ts'
import { pluginFileLimit } from './manifest-consistency.ts'
import { AnyKey, RelativePath, SemanticVersion } from './manifest.ts'
import {
  changeMembers,
  completeVersion,
  eachItem,
  type LenientRules,
  shortTexts,
  withoutDot,
  withoutNullMembers,
} from '../parsing/lenient.ts'
import { createCheck, createParser } from '../parsing/parser.ts'
import { Permissions } from './permissions.ts'

/** `plugins.json` of a repository (contract, section 7). Members that are not named here are kept. */
export const RepositoryEntry = Type.Object({
  id: Type.String({
    minLength: 1,
    description: 'The short id, or the full id with the namespace of the index',
  }),
  name: Type.String({ minLength: 1 }),
  version: SemanticVersion,
  description: Type.Optional(Type.String()),
  author: Type.Optional(Type.String()),
  path: Type.Union([Type.Literal('.'), RelativePath], {
    description: 'A relative path of a folder inside the repository, with forward slashes',
  }),
  tags: Type.Optional(Type.Array(Type.String())),
  minHostVersion: Type.Optional(SemanticVersion),
  files: Type.Optional(Type.Array(RelativePath, { maxItems: pluginFileLimit })),
  // For the catalog; the manifest counts. What is no list of permissions does not spoil the entry.
  permissions: Type.Optional(Type.Unknown({ description: 'As in the manifest' })),
  sha256: Type.Optional(
    Type.Record(
      AnyKey,
      Type.String({ pattern: '^[0-9a-fA-F]{64}$', description: '64 hexadecimal digits (SHA-256)' }),
    ),
  ),
})
export type RepositoryEntry = Static<typeof RepositoryEntry>

const head = {
  version: Type.Literal(1),
  name: Type.String({ minLength: 1 }),
  namespace: ShortId,
  description: Type.Optional(Type.String()),
  author: Type.Optional(Type.String()),
  url: Type.Optional(Type.String()),
  updated: Type.Optional(Type.String()),
}

export const RepositoryIndex = Type.Object(
  { ...head, plugins: Type.Array(RepositoryEntry) },
  { title: 'Lupine repository index', description: 'plugins.json of a repository' },
)
export type RepositoryIndex = Static<typeof RepositoryIndex>

/** The index without a look at its entries: one bad entry must not hide the others. */
export const parseRepositoryHead = createParser(Type.Object({ ...head, plugins: Type.Array(Type.Unknown()) }))
export const parseRepositoryEntry = createParser(RepositoryEntry)
export const isRepositoryEntry = createCheck(RepositoryEntry)
const forReaders = new Set(['description', 'author', 'url', 'updated', 'tags', 'minHostVersion'])
/** What only people read, and the lowest host version, which the manifest names, too. */
export const indexRules: Omit<LenientRules, 'tidy'> = {
  isVital: ([member = '']) => !forReaders.has(member),
  unit: (path) => path.length,
}

export const tidyHead = (head: JsonObject): JsonObject =>
  changeMembers(withoutNullMembers(head), shortTexts) as JsonObject

export const tidyEntry = (entry: JsonObject): JsonObject =>
  changeMembers(withoutNullMembers(entry), {
    version: completeVersion,
    minHostVersion: completeVersion,
    ...shortTexts,
    files: eachItem(withoutDot),
  }) as JsonObject

/** Whether an entry names permissions as it should: most name none, and nobody asks what is wrong. */
export const areListedPermissions = createCheck(Permissions)

export const indexFile = 'plugins.json'
/** The signature of the index, beside it. */
export const signatureFile = `${indexFile}.minisig`
