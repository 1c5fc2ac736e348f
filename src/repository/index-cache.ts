import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { messageOf, Problem } from '../base/problem.ts'
import { type ReadIndex, readIndexFile } from './index-file.ts'
import { openSource, type SourceOptions } from './open-source.ts'
import type { RepositorySettings } from './repository.ts'
import { type Source, SourceError, type Validators } from './source.ts'

export interface OpenRepository extends ReadIndex {
  source: Source
}

/** Indexes of repositories, kept for a while and asked for once by however many want them. */
export interface IndexCache {
  /** `fresh`: asks the server whether it has changed, however young the index is. Throws `repository_unreachable`. */
  open(repository: RepositorySettings, options?: { fresh?: boolean }): Promise<OpenRepository>
}

export interface IndexCacheOptions extends SourceOptions {
  clock: Clock
  logger: Logger
  signal: AbortSignal
}

interface Entry {
  source: Source
  known?: { read: ReadIndex; validators: Validators; at: number }
  pending?: Promise<ReadIndex>
}

export function createIndexCache(options: IndexCacheOptions): IndexCache {
  const { clock, logger, limits, signal } = options
  const entries = new Map<string, Entry>()

  function entryOf({ url }: RepositorySettings): Entry {
    const known = entries.get(url)
    if (known?.source.remote) return known
    // A relative path may mean another folder by now.
    const entry = { source: openSource(url, options) }
    entries.set(url, entry)
    return entry
  }

  async function refresh(repository: RepositorySettings, entry: Entry): Promise<ReadIndex> {
    const answer = await entry.source.readIndex(entry.known?.validators, signal)
    if (answer === 'unchanged' && entry.known !== undefined) {
      entry.known.at = clock.monotonic()
      return entry.known.read
    }
    if (answer === 'unchanged') throw new SourceError('it answers "unchanged" to a first request')
    const read = readIndexFile(answer.bytes)
    entry.known = { read, validators: answer.validators, at: clock.monotonic() }
    for (const { fullId, errors } of read.unusable) {
      logger.warn('An entry of a repository cannot be used', { repository: repository.name, fullId, errors })
    }
    return read
  }

  async function read(repository: RepositorySettings, entry: Entry, fresh: boolean): Promise<ReadIndex> {
    const { known, source } = entry
    if (
      !fresh &&
      source.remote &&
      known !== undefined &&
      clock.monotonic() - known.at < limits.indexLifetime
    ) {
      return known.read
    }
    entry.pending ??= refresh(repository, entry).finally(() => {
      delete entry.pending
    })
    return entry.pending
  }

  return {
    async open(repository, { fresh = false } = {}) {
      try {
        const entry = entryOf(repository)
        return { ...(await read(repository, entry, fresh)), source: entry.source }
      } catch (error) {
        throw unreachable(repository, entries.get(repository.url)?.source.place, error)
      }
    },
  }
}

/** The problem of a repository that could not be read; other problems stay what they are. */
export function unreachable(
  { name }: RepositorySettings,
  place: string | undefined,
  error: unknown,
): unknown {
  if (!(error instanceof SourceError)) return error
  const where = place === undefined ? '' : ` (${place})`
  const sentence = `The repository "${name}"${where} cannot be read: ${messageOf(error)}.`
  return new Problem('repository_unreachable', sentence, { cause: error })
}
