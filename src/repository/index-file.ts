import { trimEndOf } from '../base/trim-end.ts'
import { isJsonObject } from '../base/json.ts'
import type { ProblemDetail } from '../base/problem.ts'
import { parseFullId } from '../schema/names/identifier.ts'
import { parseJsonText } from '../schema/parsing/json-text.ts'
import { parseLeniently } from '../schema/parsing/lenient.ts'
import {
  indexFile,
  indexRules,
  parseRepositoryEntry,
  parseRepositoryHead,
  type RepositoryEntry,
  type RepositoryIndex,
  tidyEntry,
  tidyHead,
} from '../schema/manifest/repository-index.ts'
import { SourceError } from './source.ts'
import { isNewer, isSameVersion } from './versions.ts'

/** `plugins.json` as it was read. An entry that cannot be used is set aside and hides no other. */
export interface ReadIndex {
  index: RepositoryIndex
  unusable: { fullId: string | undefined; errors: ProblemDetail[] }[]
}

/** Throws `SourceError` with what is wrong with the index as a whole. */
export function readIndexFile(bytes: Uint8Array): ReadIndex {
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
  const usable: RepositoryEntry[] = []
  const unusable: ReadIndex['unusable'] = []
  for (const [position, found] of plugins.entries()) {
    const entry = withTidyPath(found)
    const parsed = parseLeniently(parseRepositoryEntry, entry, { ...indexRules, tidy: tidyEntry })
    const fullId =
      isJsonObject(entry) && typeof entry.id === 'string' ? fullIdOf(entry.id, namespace) : undefined
    if (parsed.ok && fullId !== undefined) {
      usable.push(parsed.value.value)
      continue
    }
    const errors = parsed.ok
      ? [{ path: '/id', message: `must be a plugin id of the namespace ${namespace}` }]
      : parsed.errors
    unusable.push({
      fullId,
      errors: errors.map(({ path, message }) => ({ path: `/plugins/${position}${path}`, message })),
    })
  }
  return { index: { ...head.value.value, plugins: usable }, unusable }
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

/** The entries of one plugin, newest first: an index may list several versions. */
export function entriesOf(index: RepositoryIndex, fullId: string): RepositoryEntry[] {
  return index.plugins
    .filter(({ id }) => fullIdOf(id, index.namespace) === fullId)
    .sort((left, right) => {
      if (isSameVersion(left.version, right.version)) return 0
      return isNewer(left.version, right.version) ? -1 : 1
    })
}
