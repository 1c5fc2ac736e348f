import { Problem } from '../../base/problem.ts'
import type { RepositorySettings } from '../../repository/repository.ts'
import { configuredRepositories, type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import { installSource } from './install-source.ts'

/**
 * Where an installed plugin gets its files from. The repository that it came from goes by the name that its owner
 * gave it: the display name of an index is up to its author, who could take the place of one that was removed. An
 * entry written by hand has no files yet, and may use either. Throws `repository_unknown`.
 */
export async function originRepository(context: LifecycleContext, id: string): Promise<RepositorySettings> {
  const { repository, integrity } = snapshotOfPlugin(context, id).context
  const configured = configuredRepositories(context)
  const wasFetched = Object.keys(integrity).length > 0
  if (repository !== null && wasFetched && !configured.some(({ name }) => name === repository)) {
    throw new Problem(
      'repository_unknown',
      `${id} came from the repository "${repository}", which this host does not have any more. Add it again under that ` +
        'name, at whatever address it is now; or uninstall the plugin, which forgets its settings, and install it from another one.',
    )
  }
  const [known] = configured.filter(({ name }) => name === repository)
  return known ?? (await installSource(context, id, repository ?? undefined, { write: false })).from
}

/** What the index called the version that is installed: with this, what an index offers is compared. */
export function installedVersion(context: LifecycleContext, id: string): string | undefined {
  const known = context.journal.live.plugins.get(id)?.context
  return known?.indexVersion ?? known?.version ?? undefined
}
