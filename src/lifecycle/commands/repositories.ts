import { parsePublicKey } from '../../base/keys/minisign.ts'
import { createKeyedMutex } from '../../base/mutex.ts'
import { messageOf, Problem } from '../../base/problem.ts'
import { memoize } from '../../base/memoize.ts'
import { runCooperatively, type Steps } from '../../base/time/cooperative-steps.ts'
import type { SnapshotWriter } from '../../journal/snapshot/snapshot-writer.ts'
import type { Offer } from '../../repository/repository.ts'
import { hostSupports, isNewer } from '../../repository/versions.ts'
import type { CatalogEntry, Repository } from '../../schema/api/api.ts'
import { identifierOf } from '../../schema/names/identifier.ts'
import { withoutCredentials } from '../secrets/secrets.ts'
import type { CommandRunner } from './command-runner.ts'
import { configuredRepositories, installedVersion, type LifecycleContext } from '../context.ts'
import type { Lifecycle } from '../lifecycle.ts'

/** The repositories that this host knows, and what they offer. */
export type Repositories = Pick<Lifecycle, 'catalog' | 'repositories' | 'addRepository' | 'removeRepository'>

export function createRepositories(
  context: LifecycleContext,
  { requireRunning, snapshots }: Pick<CommandRunner, 'requireRunning'> & { snapshots: SnapshotWriter },
): Repositories {
  const { journal, repositories, namespaces, hostVersion, logger } = context
  // Not the plugins': the end of the host waits for those, and need not wait for an address that does not answer.
  const mutex = createKeyedMutex()

  async function statuses(wanted: (name: string) => boolean): Promise<Repository[]> {
    const chosen = configuredRepositories(context).filter(({ name }) => wanted(name))
    const found = await repositories.statuses(chosen)
    const seen = new Map(found.map(({ name, namespace }) => [name, namespace]))
    await namespaces.settle({ seen, write: true })
    return found.map((status) => ({
      ...status,
      url: withoutCredentials(status.url),
      namespaceHeldBy:
        status.namespace === null ? null : namespaces.heldByOther(status.namespace, status.name),
    }))
  }

  async function statusOf(name: string): Promise<Repository> {
    const [status] = await statuses((other) => other === name)
    if (status === undefined) throw unknownRepository(name)
    return status
  }

  function entryOf(
    { minHostVersion, ...offer }: Offer,
    holderOf: (namespace: string) => string | undefined,
  ): CatalogEntry {
    const known = journal.live.plugins.get(offer.fullId)?.context
    const { version = null, repository: from = null } = known ?? {}
    const seen = installedVersion(context, offer.fullId)
    const holder = holderOf(identifierOf(offer.fullId).namespace)
    const namespaceHeldBy = holder === undefined || holder === offer.repository ? null : holder
    // An entry written by hand without a repository gets its files from the one that has the namespace.
    const isItsOwn = from === null ? namespaceHeldBy === null : from === offer.repository
    return {
      ...offer,
      namespaceHeldBy,
      installedVersion: version,
      updateAvailable: version !== null && seen !== undefined && isItsOwn && isNewer(offer.version, seen),
      compatible: minHostVersion === null || hostSupports(minHostVersion, hostVersion),
    }
  }

  return {
    async catalog({ text, repository }) {
      const all = configuredRepositories(context)
      const chosen = repository === undefined ? all : all.filter(({ name }) => name === repository)
      if (repository !== undefined && chosen.length === 0) throw unknownRepository(repository)
      const offers = await repositories.offers(chosen, (fullId) => installedVersion(context, fullId))
      const seen = new Map<string, string | null>(chosen.map(({ name }) => [name, null]))
      for (const { repository: from, fullId } of offers) seen.set(from, identifierOf(fullId).namespace)
      await namespaces.settle({ seen, write: true })
      const wanted = text?.toLowerCase()
      // An index lists plugins of one namespace.
      const holderOf = memoize((namespace: string) => namespaces.holder(namespace))
      function* shown(): Steps<CatalogEntry[]> {
        const found: CatalogEntry[] = []
        for (const offer of offers) {
          yield
          const fields = [offer.fullId, offer.name, offer.description ?? '', ...offer.tags]
          if (wanted === undefined || fields.some((field) => field.toLowerCase().includes(wanted)))
            found.push(entryOf(offer, holderOf))
        }
        return found
      }
      return runCooperatively(shown())
    },
    repositories: () => statuses(() => true),
    addRepository: ({ name, url, publicKey }, { by, requestKey }) =>
      mutex.run(name, async () => {
        requireRunning()
        const present = configuredRepositories(context).find((repository) => repository.name === name)
        const key = keyFor(name, publicKey, present?.publicKey)
        if (present !== undefined && present.url === url && present.publicKey === key) return statusOf(name)
        const repository = { name, url, ...(key === undefined ? {} : { publicKey: key }) }
        // Read first: an address that does not work is told now, not at the next installation.
        const { signedAt } = await repositories.check(repository)
        // Those that were there before were first.
        await namespaces.settle({ read: configuredRepositories(context), write: true })
        requireRunning()
        const data = { ...repository, ...(signedAt === undefined ? {} : { signedAt }) }
        await journal.append([{ type: 'RepositoryAdded', plugin: null, data }], by, requestKey)
        await snapshots.flush()
        const status = await statusOf(name)
        const { namespace, namespaceHeldBy: heldBy } = status
        if (heldBy !== null) {
          logger.warn('A repository claims a namespace that belongs to another one', {
            repository: name,
            namespace,
            heldBy,
          })
        }
        return status
      }),
    removeRepository: (name, { by }) =>
      mutex.run(name, async () => {
        requireRunning()
        if (!configuredRepositories(context).some((repository) => repository.name === name))
          throw unknownRepository(name)
        await journal.append([{ type: 'RepositoryRemoved', plugin: null, data: { name } }], by)
        await snapshots.flush()
      }),
  }
}

const unknownRepository = (name: string): Problem =>
  new Problem('repository_unknown', `There is no repository named ${name}.`)

/**
 * The key that a repository is to be pinned to. One that is pinned stays so, whatever the request leaves out, and
 * nobody changes its key in passing. Throws `body_invalid` and `repository_pinned`.
 */
function keyFor(
  name: string,
  given: string | null | undefined,
  pinned: string | undefined,
): string | undefined {
  if (given === undefined) return pinned
  const key = given === null ? undefined : readKey(given)
  if (pinned === undefined || key === pinned) return key
  throw new Problem(
    'repository_pinned',
    `The repository "${name}" is pinned to the key ${pinned}. If it is really to be trusted ${key === undefined ? 'without one' : 'with another one'}, delete it first, then add it again.`,
  )
}

function readKey(text: string): string {
  try {
    return parsePublicKey(text).text
  } catch (error) {
    throw new Problem('body_invalid', `The public key ${messageOf(error)}.`, {
      errors: [{ path: '/publicKey', message: messageOf(error) }],
      cause: error,
    })
  }
}
