import { Problem } from '../base/problem.ts'
import type { SnapshotWriter } from '../journal/snapshot.ts'
import type { RepositoryStatus } from '../repository/repository.ts'
import { hostSupports, isNewer } from '../repository/versions.ts'
import { withoutCredentials } from './address.ts'
import type { CommandRunner } from './command-runner.ts'
import { configuredRepositories, type LifecycleContext, snapshotOfPlugin } from './context.ts'
import type { Lifecycle } from './lifecycle.ts'

/** The repositories that this host knows, and what they offer. */
export type Repositories = Pick<Lifecycle, 'catalog' | 'repositories' | 'addRepository' | 'removeRepository'>

export function createRepositories(
  context: LifecycleContext,
  { requireRunning, snapshots }: Pick<CommandRunner, 'requireRunning'> & { snapshots: SnapshotWriter },
): Repositories {
  const { journal, repositories, hostVersion } = context

  async function statuses(wanted: (name: string) => boolean): Promise<RepositoryStatus[]> {
    const chosen = configuredRepositories(context).filter(({ name }) => wanted(name))
    const found = await repositories.statuses(chosen)
    return found.map((status) => ({ ...status, url: withoutCredentials(status.url) }))
  }

  async function statusOf(name: string): Promise<RepositoryStatus> {
    const [status] = await statuses((other) => other === name)
    if (status === undefined) throw new Problem('repository_unknown', `There is no repository named ${name}.`)
    return status
  }

  return {
    async catalog({ text, repository }) {
      const all = configuredRepositories(context)
      const chosen = repository === undefined ? all : all.filter(({ name }) => name === repository)
      if (repository !== undefined && chosen.length === 0) {
        throw new Problem('repository_unknown', `There is no repository named ${repository}.`)
      }
      const offers = await repositories.offers(chosen)
      const wanted = text?.toLowerCase()
      return offers
        .filter(
          (offer) =>
            wanted === undefined ||
            [offer.fullId, offer.name, offer.description ?? '', ...offer.tags].some((field) =>
              field.toLowerCase().includes(wanted),
            ),
        )
        .map(({ minHostVersion, ...offer }) => {
          const snapshot = snapshotOfPlugin(context, offer.fullId)
          const { version, indexVersion, repository: from } = snapshot.context
          const seen = indexVersion ?? version
          return {
            ...offer,
            installedVersion: version,
            updateAvailable:
              version !== null &&
              seen !== null &&
              (from === null || from === offer.repository) &&
              isNewer(offer.version, seen),
            compatible: minHostVersion === null || hostSupports(minHostVersion, hostVersion),
          }
        })
    },
    repositories: () => statuses(() => true),
    async addRepository({ name, url }, { by, requestKey }) {
      requireRunning()
      if (
        configuredRepositories(context).some(
          (repository) => repository.name === name && repository.url === url,
        )
      ) {
        return statusOf(name)
      }
      // Read first: an address that does not work is told now, not at the next installation.
      await repositories.index({ name, url })
      await journal.append([{ type: 'RepositoryAdded', plugin: null, data: { name, url } }], by, requestKey)
      await snapshots.flush()
      return statusOf(name)
    },
    async removeRepository(name, { by }) {
      requireRunning()
      if (!configuredRepositories(context).some((repository) => repository.name === name)) {
        throw new Problem('repository_unknown', `There is no repository named ${name}.`)
      }
      await journal.append([{ type: 'RepositoryRemoved', plugin: null, data: { name } }], by)
      await snapshots.flush()
    },
  }
}
