import { isDeepStrictEqual } from 'node:util'
import { isJsonObject, type JsonObject } from '../base/text/json.ts'
import { messageOf, Problem } from '../base/problem.ts'
import { systemClock } from '../base/time/clock.ts'
import { createDirectorySource } from '../repository/sources/directory-source.ts'
import { createFolderReads } from '../repository/sources/folder-reads.ts'
import { fullIdOf, readIndexFile } from '../repository/index/index-file.ts'
import { defaultRepositoryLimits } from '../repository/limits.ts'
import { integrityOf } from '../repository/directories/plugin-directory.ts'
import { fetchPlugin } from '../repository/directories/staging.ts'
import { identifierOf } from '../schema/names/identifier.ts'
import { parseJsonText } from '../schema/parsing/json-text.ts'
import { indexFile, type RepositoryEntry } from '../schema/manifest/repository-index.ts'

export interface FilledIndex {
  content: Uint8Array
  /** Whether it is not what the file holds. */
  isNew: boolean
  plugins: number
}

/**
 * The index of a repository in a folder with `sha256` of every file that a host fetches, and `permissions` as the
 * manifests have them; everything else stays as it was written. Throws one sentence for what no host would take.
 */
export async function fillInIndex(root: string): Promise<FilledIndex> {
  const limits = defaultRepositoryLimits
  const source = createDirectorySource(
    [root],
    limits,
    createFolderReads({ clock: systemClock, time: limits.requestTime }),
  )
  const signal = new AbortController().signal
  const place = `${root}/${indexFile}`
  const found = await source.readIndex(undefined, signal).catch((error: unknown) => {
    throw new Error(`${root} is no repository: ${messageOf(error)}.`, { cause: error })
  })
  if (found === 'unchanged') throw new Error(`${place} cannot be read.`)
  const json = parseJsonText(found.bytes)
  if (!json.ok) throw new Error(`${place} ${json.message}.`)
  if (json.repeated.length > 0) throw new Error(`${place} has ${json.repeated.join(', ')} twice.`)
  const { index, unusable, unnamed } = readIndex(place, found.bytes)
  const wrong = unusable.flatMap(({ errors }) => errors.map(({ path, message }) => `${path} ${message}`))
  if (unnamed > 0) wrong.push(`${unnamed} more entries have mistakes`)
  if (wrong.length > 0) throw new Error(`${place} cannot be used: ${wrong.join('; ')}.`)
  const written = isJsonObject(json.value) && Array.isArray(json.value.plugins) ? json.value.plugins : []

  async function fillIn(entry: RepositoryEntry, target: JsonObject): Promise<boolean> {
    const { sha256: before = {}, ...unsigned } = entry
    const plugin = identifierOf(fullIdOf(entry.id, index.namespace) ?? '')
    const { manifest, contents } = await fetchPlugin({
      source,
      entry: unsigned,
      signed: false,
      plugin,
      limits,
      signal,
      accept: () => undefined,
      warn(_, file) {
        throw new Error(`${file} is in its docs, but it is not there`)
      },
    }).catch((error: unknown) => {
      throw new Error(`${place}, ${plugin.fullId}: ${withDetails(error)}.`, { cause: error })
    })
    const sha256 = integrityOf(contents)
    const { permissions } = manifest
    const isRight =
      isDeepStrictEqual(lowerCase(before), sha256) && isDeepStrictEqual(target.permissions, permissions)
    if (isRight) return false
    target.sha256 = sha256
    if (permissions === undefined) delete target.permissions
    else target.permissions = permissions
    return true
  }

  let isNew = false
  for (const [position, entry] of index.plugins.entries()) {
    const target: unknown = written[position]
    if (isJsonObject(target) && (await fillIn(entry, target))) isNew = true
  }
  const content = isNew ? Buffer.from(`${JSON.stringify(json.value, null, 2)}\n`) : found.bytes
  if (content.length > limits.indexBytes) {
    throw new Error(`${place} would be larger than ${limits.indexBytes} bytes, which no host reads.`)
  }
  return { content, isNew, plugins: index.plugins.length }
}

function readIndex(place: string, bytes: Uint8Array): ReturnType<typeof readIndexFile> {
  try {
    return readIndexFile(bytes)
  } catch (error) {
    throw new Error(`${place} cannot be used: ${messageOf(error)}.`, { cause: error })
  }
}

function withDetails(error: unknown): string {
  const details = error instanceof Problem ? (error.errors ?? []) : []
  const sentence = messageOf(error).replace(/\.$/, '')
  const list = details.map(({ path, message }) => `${path} ${message}`.trim())
  // The sentence has one of them already, or all.
  return [sentence, ...list.filter((detail) => !sentence.includes(detail))].join('; ')
}

function lowerCase(hashes: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(hashes).map(([file, hash]) => [file, hash.toLowerCase()]))
}
