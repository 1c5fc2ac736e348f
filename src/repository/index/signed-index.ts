import {
  MinisignError,
  parseMinisign,
  parsePublicKey,
  signingTime,
  verifyMinisign,
} from '../../base/keys/minisign.ts'
import { Problem } from '../../base/problem.ts'
import { indexFile, signatureFile } from '../../schema/manifest/repository-index.ts'
import type { RepositorySettings, SigningTimes } from '../repository.ts'
import type { FetchedIndex, Source, Validators } from '../sources/source.ts'

/** What the signature of an index says beyond "it is genuine". */
export interface GoodSignature {
  /** Seconds since 1970; undefined when the signer does not say it. */
  signedAt: number | undefined
}

export interface VerifiedIndex extends FetchedIndex {
  /** Undefined for a repository that is pinned to no key: a signature beside its index proves nothing. */
  signature: GoodSignature | undefined
}

/**
 * Fetches an index and, where a key is given, verifies it before anybody looks into it. Throws `SourceError`, and
 * `MinisignError` for anything that is not signed as it must be.
 */
export async function fetchIndex(
  source: Source,
  publicKey: string | undefined,
  options: { known: Validators | undefined; signatureBytes: number; signal: AbortSignal },
): Promise<VerifiedIndex | 'unchanged'> {
  const { known, signatureBytes, signal } = options

  async function verified(fetched: FetchedIndex): Promise<VerifiedIndex> {
    if (publicKey === undefined) return { ...fetched, signature: undefined }
    const file = await source.readFile(signatureFile, signatureBytes, signal)
    if (file === undefined) throw new MinisignError('is not there')
    const signed = parseMinisign(file)
    verifyMinisign(fetched.bytes, signed, parsePublicKey(publicKey))
    return { ...fetched, signature: { signedAt: signingTime(signed) } }
  }

  const first = await source.readIndex(known, signal)
  if (first === 'unchanged') return first
  try {
    return await verified(first)
  } catch (error) {
    if (!(error instanceof MinisignError)) throw error
    // The two files are not replaced in one step: one of them may be newer than the other.
    const second = await source.readIndex(undefined, signal)
    return second === 'unchanged' ? second : verified(second)
  }
}

/** The problem of a repository whose index is not signed with its key. */
export function unsignedProblem({ name }: RepositorySettings, place: string, error: MinisignError): Problem {
  return new Problem(
    'signature_invalid',
    `The repository "${name}" (${place}) is refused: its ${signatureFile} ${error.message}. ` +
      'If its maintainer has just published, try again later; if the maintainer has another key, ' +
      'and tells so in a way that you trust, delete the repository here, if it is there, and add it with that key.',
    { cause: error },
  )
}

/** Refuses an index that was signed before another one that was seen, and remembers when this one was. */
export async function requireNotOlder(
  repository: RepositorySettings,
  place: string,
  { signedAt }: GoodSignature,
  times: SigningTimes,
): Promise<void> {
  const latest = times.latest(repository)
  if (latest !== undefined && (signedAt === undefined || signedAt < latest)) {
    const found = signedAt === undefined ? 'at a time that it does not tell' : `on ${dateOf(signedAt)}`
    throw new Problem(
      'signature_invalid',
      `The repository "${repository.name}" (${place}) is refused: its ${indexFile} was signed ${found}, and one that was ` +
        `signed on ${dateOf(latest)} has been seen. Somebody may be showing an old one; try again later. ` +
        'If its maintainer says that the older one is right, delete the repository here and add it again.',
    )
  }
  if (signedAt !== undefined && (latest === undefined || signedAt > latest)) {
    await times.remember(repository, signedAt)
  }
}

/** Total: a time too far away for a date is shown as a number. */
export function dateOf(seconds: number): string {
  const date = new Date(seconds * 1000)
  return Number.isNaN(date.getTime()) ? `second ${seconds}` : date.toISOString()
}

/** For a catalog of its own: remembers as long as it lives. */
export function createSigningTimes(): SigningTimes {
  const times = new Map<string, number>()
  const keyOf = ({ name, publicKey }: RepositorySettings): string => JSON.stringify([name, publicKey])
  return {
    latest: (repository) => times.get(keyOf(repository)),
    async remember(repository, signedAt) {
      times.set(keyOf(repository), signedAt)
    },
  }
}
