import { createHash } from 'node:crypto'
import type { Clock } from '../../base/time/clock.ts'
import { runCooperatively } from '../../base/time/cooperative-steps.ts'
import type { Logger } from '../../base/log/log.ts'
import { MinisignError } from '../../base/keys/minisign.ts'
import { messageOf, Problem } from '../../base/problem.ts'
import { indexSteps, type ReadIndex } from './index-file.ts'
import { openSource, type SourceOptions } from '../sources/open-source.ts'
import type { RepositorySettings, SigningTimes } from '../repository.ts'
import { fetchIndex, type GoodSignature, requireNotOlder, unsignedProblem } from './signed-index.ts'
import { type Source, MissingFileError, SourceError, type Validators } from '../sources/source.ts'

export interface OpenRepository extends KeptIndex {
  source: Source
}

interface KeptIndex extends ReadIndex {
  /** Of a repository that is pinned to a key, and of no other. */
  signature: GoodSignature | undefined
}

/** Indexes of repositories, kept for a while and asked for once by however many want them. */
export interface IndexCache {
  /**
   * `fresh`: asks the server whether it has changed, however young the index is. Throws `repository_unreachable`
   * and, for one that is pinned to a key, `signature_invalid`.
   */
  open(repository: RepositorySettings, options?: { fresh?: boolean }): Promise<OpenRepository>
  /** The namespace that it had when it could last be read; undefined when it could not be so far. */
  lastNamespace(repository: RepositorySettings): string | undefined
}

export interface IndexCacheOptions extends SourceOptions {
  clock: Clock
  logger: Logger
  signal: AbortSignal
  times: SigningTimes
}

/** Entries that cannot be used of which the log says why, of one index. */
const toldEntries = 20

interface Entry {
  source: Source
  known?: { read: KeptIndex; digest: string; validators: Validators; at: number }
  pending?: Promise<KeptIndex>
  /** The last try, if it took as long as one may; until one that does not. */
  silent?: { error: unknown; at: number }
}

export function createIndexCache(options: IndexCacheOptions): IndexCache {
  const { clock, logger, limits, signal, times } = options
  const entries = new Map<string, Entry>()
  const namespaces = new Map<string, string>()
  /** Why a repository is refused, as the log has it already. */
  const refused = new Map<string, string>()

  // What was verified with one key says nothing for another, nor for none.
  const keyOf = ({ url, publicKey }: RepositorySettings): string => JSON.stringify([url, publicKey ?? null])

  function entryOf(repository: RepositorySettings): Entry {
    const key = keyOf(repository)
    const known = entries.get(key)
    if (known?.source.remote) return known
    // A relative path may mean another folder by now.
    const entry: Entry = { source: openSource(repository.url, options) }
    if (known?.known !== undefined) entry.known = known.known
    entries.set(key, entry)
    return entry
  }

  async function refresh(repository: RepositorySettings, entry: Entry): Promise<KeptIndex> {
    const { source } = entry
    const answer = await fetchIndex(source, repository.publicKey, {
      known: entry.known?.validators,
      signatureBytes: limits.signatureBytes,
      signal,
    }).catch((error: unknown) => {
      throw error instanceof MinisignError ? unsignedProblem(repository, source.place, error) : error
    })
    if (answer === 'unchanged' && entry.known !== undefined) {
      entry.known.at = clock.monotonic()
      return entry.known.read
    }
    if (answer === 'unchanged') throw new SourceError('it answers "unchanged" to a first request')
    const { bytes, validators, signature } = answer
    const digest = createHash('sha256').update(bytes).digest('hex')
    const { known } = entry
    const contents = known?.digest === digest ? known.read : await runCooperatively(indexSteps(bytes))
    const read = { ...contents, signature }
    entry.known = { read, digest, validators, at: clock.monotonic() }
    for (const { fullId, errors } of read.unusable.slice(0, toldEntries)) {
      logger.warn('An entry of a repository cannot be used', { repository: repository.name, fullId, errors })
    }
    const more = read.unusable.length + read.unnamed - toldEntries
    if (more > 0)
      logger.warn('More entries of a repository cannot be used', { repository: repository.name, more })
    return read
  }

  async function read(repository: RepositorySettings, entry: Entry, fresh: boolean): Promise<KeptIndex> {
    const { known, silent, source } = entry
    const isRecent = ({ at }: { at: number }): boolean => clock.monotonic() - at < limits.indexLifetime
    if (!fresh && source.remote) {
      if (known !== undefined && isRecent(known)) return known.read
      if (silent !== undefined) {
        // One of many may be away for years: nobody waits for it again. The look after its answer has it.
        if (!isRecent(silent)) void ask(repository, entry).catch(() => undefined)
        throw silent.error
      }
    }
    return ask(repository, entry)
  }

  function ask(repository: RepositorySettings, entry: Entry): Promise<KeptIndex> {
    entry.pending ??= refreshInTime(repository, entry).finally(() => {
      delete entry.pending
    })
    return entry.pending
  }

  /** Remembers that nothing was heard for as long as one waits. */
  async function refreshInTime(repository: RepositorySettings, entry: Entry): Promise<KeptIndex> {
    const begin = clock.monotonic()
    try {
      const read = await refresh(repository, entry)
      delete entry.silent
      return read
    } catch (error) {
      const at = clock.monotonic()
      if (at - begin >= limits.requestTime) entry.silent = { error, at }
      else delete entry.silent
      throw error
    }
  }

  /** Somebody may have taken the server over: that is no matter of whoever happens to ask alone. Once for each reason. */
  function tellRefusal(repository: RepositorySettings, problem: unknown): void {
    if (!(problem instanceof Problem) || problem.code !== 'signature_invalid') return
    if (refused.get(keyOf(repository)) === problem.message) return
    refused.set(keyOf(repository), problem.message)
    logger.warn('A repository is refused', { repository: repository.name, reason: problem.message })
  }

  return {
    lastNamespace: (repository) => namespaces.get(keyOf(repository)),
    async open(repository, { fresh = false } = {}) {
      try {
        const entry = entryOf(repository)
        const found = await read(repository, entry, fresh)
        if (found.signature !== undefined) {
          await requireNotOlder(repository, entry.source.place, found.signature, times)
        }
        namespaces.set(keyOf(repository), found.index.namespace)
        refused.delete(keyOf(repository))
        return { ...found, source: entry.source }
      } catch (error) {
        const problem = unreachableProblem(repository, entries.get(keyOf(repository))?.source.place, error)
        tellRefusal(repository, problem)
        throw problem
      }
    },
  }
}

/** The problem of a repository that could not be read; other problems stay what they are. */
export function unreachableProblem(
  { name }: RepositorySettings,
  place: string | undefined,
  error: unknown,
): unknown {
  if (!(error instanceof SourceError)) return error
  const where = place === undefined ? '' : ` (${place})`
  const sentence =
    error instanceof MissingFileError
      ? `${error.need}, but the repository "${name}"${where} has no ${error.path}; tell its maintainer, and try again once it is there.`
      : `The repository "${name}"${where} cannot be read: ${messageOf(error)}.`
  return new Problem('repository_unreachable', sentence, { cause: error })
}
