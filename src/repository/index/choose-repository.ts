import { messageOf, Problem } from '../../base/problem.ts'
import { parseFullId } from '../../schema/names/identifier.ts'
import type { OpenRepository } from './index-cache.ts'
import type { RepositorySettings } from '../repository.ts'

/** By the name it has here, or else by the one that its index gives (its display name). */
export async function chooseByName(
  repositories: readonly RepositorySettings[],
  { name, holder }: { name: string; holder: string | undefined },
  open: (repository: RepositorySettings) => Promise<OpenRepository>,
): Promise<RepositorySettings> {
  const named = repositories.find((repository) => repository.name === name)
  if (named !== undefined) return named
  const failures = new Map<string, unknown>()
  const displayNames = await Promise.all(
    repositories.map((repository) =>
      open(repository).then(
        ({ index }) => index.name,
        (error: unknown) => void failures.set(repository.name, error),
      ),
    ),
  )
  const displayed = repositories.filter((_, position) => displayNames[position] === name)
  const [first, ...others] = displayed
  // A display name is up to its author, who may have taken somebody else's, and waits until nobody can read that one.
  if (first !== undefined && holder !== undefined && failures.has(holder)) throw failures.get(holder)
  const chosen = others.length === 0 ? first : displayed.find((repository) => repository.name === holder)
  if (chosen !== undefined) return chosen
  if (first !== undefined) {
    const names = displayed.map((repository) => `"${repository.name}"`).join(', ')
    throw new Problem(
      'ambiguous_repository',
      `The repositories ${names} call themselves "${name}"; name one as it is called here.`,
    )
  }
  const known = repositories.map((repository) => `"${repository.name}"`).join(', ')
  throw new Problem(
    'repository_unknown',
    `There is no repository named "${name}". ${known === '' ? 'None is configured; add one first.' : `Known are ${known}.`}`,
  )
}

/** The one that lists the plugin: the holder of its namespace, or the only one while there is none. */
export async function chooseByPlugin(
  repositories: readonly RepositorySettings[],
  { fullId, holder }: { fullId: string; holder: string | undefined },
  open: (repository: RepositorySettings) => Promise<OpenRepository>,
  lastNamespace: (repository: RepositorySettings) => string | undefined,
): Promise<RepositorySettings> {
  const failures: { repository: RepositorySettings; error: unknown }[] = []
  const looks = repositories.map(async (repository) => {
    try {
      const { byPlugin, unusable } = await open(repository)
      // One that lists it wrongly is chosen too: `stage` then says what is wrong.
      return byPlugin.has(fullId) || unusable.some((entry) => entry.fullId === fullId)
    } catch (error) {
      failures.push({ repository, error })
      return false
    }
  })
  const holding = repositories.findIndex((repository) => repository.name === holder)
  const own = repositories[holding]
  // What others have does not matter then, nor how long they take to tell.
  if (own !== undefined && (await looks[holding]) === true) return own
  const offers = await Promise.all(looks)
  const offering = repositories.filter((_, position) => offers[position])
  const [first, ...others] = offering
  const namespace = parseFullId(fullId)?.namespace
  const withheld = failures.find(
    ({ repository }) =>
      repository.publicKey !== undefined && (lastNamespace(repository) ?? namespace) === namespace,
  )
  if (first !== undefined && withheld !== undefined) {
    // Whoever spoils a repository that is signed must not thereby decide for another one.
    throw new Problem(
      'ambiguous_repository',
      `${fullId} is in "${first.name}"; name the repository to install from, for one that is pinned to a key could not be read. ${messageOf(withheld.error)}`,
    )
  }
  if (first !== undefined && holder !== undefined) throw notTheirs(first, holder, fullId, failures)
  if (first !== undefined && others.length === 0) return first
  if (first !== undefined) {
    const names = [first, ...others].map(({ name }) => `"${name}"`).join(', ')
    throw new Problem(
      'ambiguous_repository',
      `${fullId} is in ${names}; name the repository to install from.`,
    )
  }
  // Nobody else is asked for what is theirs, so it is this one that counts.
  const unreadHolder = failures.find(({ repository }) => repository.name === holder)
  if (unreadHolder !== undefined) throw unreadHolder.error
  if (repositories.length === 0) {
    throw new Problem('plugin_not_in_repository', 'No repository is configured; add one first.')
  }
  const unread = failures.map(({ error }) => ` ${messageOf(error)}`).join('')
  const isRefused = failures.some(
    ({ error }) => error instanceof Problem && error.code === 'signature_invalid',
  )
  throw new Problem(
    failures.length < repositories.length
      ? 'plugin_not_in_repository'
      : isRefused
        ? 'signature_invalid'
        : 'repository_unreachable',
    `No repository that could be read has ${fullId}.${unread}`,
  )
}

/** Only others than the one that has the namespace offer it. */
function notTheirs(
  offering: RepositorySettings,
  holder: string,
  fullId: string,
  failures: readonly { repository: RepositorySettings; error: unknown }[],
): Problem {
  const failure = failures.find(({ repository }) => repository.name === holder)
  const why =
    failure === undefined
      ? `which does not have ${fullId} here`
      : `which cannot be read. ${messageOf(failure.error)}`
  return new Problem(
    failure === undefined ? 'plugin_not_in_repository' : 'repository_unreachable',
    `The namespace of ${fullId} belongs to the repository "${holder}", ${why}. "${offering.name}" claims it, too: ` +
      'to install from there all the same, name that repository.',
  )
}
