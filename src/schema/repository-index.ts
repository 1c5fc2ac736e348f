import Type, { type Static } from 'typebox'
import { ShortId } from './identifier.ts'
import { RelativePath, SemanticVersion } from './manifest.ts'
import { createParser } from './parser.ts'

/** `plugins.json` of a repository (contract, section 7). Members that are not named here are ignored. */
export const RepositoryEntry = Type.Object({
  id: Type.String({ minLength: 1 }),
  name: Type.String({ minLength: 1 }),
  version: SemanticVersion,
  description: Type.Optional(Type.String()),
  author: Type.Optional(Type.String()),
  path: RelativePath,
  tags: Type.Optional(Type.Array(Type.String())),
  minHostVersion: Type.Optional(SemanticVersion),
  files: Type.Optional(Type.Array(RelativePath, { maxItems: 200 })),
  sha256: Type.Optional(Type.Record(Type.String(), Type.String({ pattern: '^[0-9a-fA-F]{64}$' }))),
})
export type RepositoryEntry = Static<typeof RepositoryEntry>

export const RepositoryIndex = Type.Object({
  version: Type.Literal(1),
  name: Type.String({ minLength: 1 }),
  namespace: ShortId,
  description: Type.Optional(Type.String()),
  author: Type.Optional(Type.String()),
  url: Type.Optional(Type.String()),
  updated: Type.Optional(Type.String()),
  plugins: Type.Array(RepositoryEntry),
})
export type RepositoryIndex = Static<typeof RepositoryIndex>

export const parseRepositoryIndex = createParser(RepositoryIndex)
