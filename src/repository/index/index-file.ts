import { getOrInsert } from '../../base/get-or-insert.ts'
import { runToCompletion, type Steps } from '../../base/time/cooperative-steps.ts'
import { trimEndOf } from '../../base/text/trim-end.ts'
import { isJsonObject } from '../../base/text/json.ts'
import type { ProblemDetail } from '../../base/problem.ts'
import { parseFullId } from '../../schema/names/identifier.ts'
import { parseJsonText } from '../../schema/parsing/json-text.ts'
import { type Lenient, parseLeniently } from '../../schema/parsing/lenient.ts'
import type { Parsed } from '../../schema/parsing/parser.ts'
import {
  indexFile,
  indexRules,
  isRepositoryEntry,
  parseRepositoryEntry,
  parseRepositoryHead,
  type RepositoryEntry,
  type RepositoryIndex,
  tidyEntry,
  tidyHead,
} from '../../schema/manifest/repository-index.ts'
import { SourceError } from '../sources/source.ts'
import { newestFirst } from '../versions.ts'

/** More entries than so many are no list of plugins: with nothing but what they must have they fill the mebibyte. */
export const indexEntriesLimit = 20_000

/** Entries that cannot be used of which it is said why: that takes long, and an index may be of nothing else. */
const patience = 200

/** `plugins.json` as it was read. An entry that cannot be used is set aside and hides no other. */
export interface ReadIndex {
  index: RepositoryIndex
  /** The entries of each plugin, by its full id, the newest first: an index may list several versions. */
  byPlugin: ReadonlyMap<string, readonly RepositoryEntry[]>
  unusable: { fullId: string | undefined; errors: ProblemDetail[] }[]
  /** How many more cannot be used. */
  unnamed: number
}

/** Throws `SourceError` with what is wrong with the index as a whole. */
export const readIndexFile = (bytes: Uint8Array): ReadIndex => runToCompletion(indexSteps(bytes))

/** The same entry by entry: a large index takes a quarter of a second. */
export function* indexSteps(bytes: Uint8Array): Steps<ReadIndex> {
  const json = parseJsonText(bytes)
  if (!json.ok) {
    throw new SourceError(`its ${indexFile} ${json.message}; check the address, or tell its maintainer`)
  }
  if (isJsonObject(json.value) && typeof json.value.version === 'number' && json.value.version !== 1) {
    throw new SourceError(
      `its ${indexFile} has version ${json.value.version}, and this host reads version 1; update the host`,
    )
  }
  const head = parseLeniently(parseRepositoryHead, json.value, { ...indexRules, tidy: tidyHead })
  if (!head.ok) {
    const list = head.errors.map(({ path, message }) => `${path || 'it'} ${message}`).join('; ')
    throw new SourceError(`its ${indexFile} is not an index: ${list}`)
  }
  const { namespace, plugins } = head.value.value
  if (plugins.length > indexEntriesLimit) {
    throw new SourceError(
      `its ${indexFile} has ${plugins.length} entries, and this host reads at most ${indexEntriesLimit}; tell its maintainer`,
    )
  }
  const usable: RepositoryEntry[] = []
  const unusable: ReadIndex['unusable'] = []
  const byPlugin = new Map<string, RepositoryEntry[]>()
  let mistakes = 0
  for (const [position, found] of plugins.entries()) {
    yield
    const entry = withTidyPath(found)
    const parsed = readEntry(entry, mistakes < patience)
    const fullId =
      isJsonObject(entry) && typeof entry.id === 'string' ? fullIdOf(entry.id, namespace) : undefined
    if (parsed?.ok !== true || fullId === undefined) mistakes += 1
    if (parsed?.ok === true && fullId !== undefined) {
      const { value } = parsed.value
      usable.push(value)
      getOrInsert(byPlugin, fullId, () => []).push(value)
      continue
    }
    if (parsed === undefined || unusable.length === patience) continue
    const errors = parsed.ok
      ? [{ path: '/id', message: `must be a plugin id of the namespace ${namespace}` }]
      : parsed.errors
    unusable.push({
      fullId,
      errors: errors.map(({ path, message }) => ({ path: `/plugins/${position}${path}`, message })),
    })
  }
  for (const [fullId, versions] of byPlugin) {
    yield
    byPlugin.set(fullId, newestFirst(versions))
  }
  const unnamed = plugins.length - usable.length - unusable.length
  return { index: { ...head.value.value, plugins: usable }, byPlugin, unusable, unnamed }
}

/** Undefined: it is not as it must be, and nobody looks at what is wrong any more. */
function readEntry(entry: unknown, closely: boolean): Parsed<Lenient<RepositoryEntry>> | undefined {
  const value = isJsonObject(entry) ? tidyEntry(entry) : entry
  if (isRepositoryEntry(value)) return { ok: true, value: { value, warnings: [] } }
  if (!closely) return undefined
  return parseLeniently(parseRepositoryEntry, entry, { ...indexRules, tidy: tidyEntry })
}

/** People write `./clock/` for `clock`. */
function withTidyPath(entry: unknown): unknown {
  if (!isJsonObject(entry) || typeof entry.path !== 'string') return entry
  const path = trimEndOf(entry.path.replace(/^(\.\/+)+/, ''), '/')
  return { ...entry, path: path === '' && entry.path.startsWith('.') ? '.' : path }
}

/** Full id of an entry; undefined when it is not one of the namespace of the index. */
export function fullIdOf(id: string, namespace: string): string | undefined {
  const identifier = parseFullId(id.startsWith('@') ? id : `@${namespace}/${id}`)
  return identifier?.namespace === namespace ? identifier.fullId : undefined
}
