import type { RepositorySettings } from '../../repository/repository.ts'
import { identifierOf } from '../../schema/names/identifier.ts'
import { configuredRepositories, type LifecycleContext } from '../context.ts'

export interface InstallSource {
  from: RepositorySettings
  /** The other repository that the plugin's namespace belongs to; null: it is this one's, or nobody's. */
  heldBy: string | null
}

/**
 * Where a plugin is to be fetched from. Without a name only the repository counts that its namespace belongs to;
 * `write`: whose that is may be written down.
 * Throws what `RepositoryCatalog.choose` throws.
 */
export async function installSource(
  context: LifecycleContext,
  id: string,
  name: string | undefined,
  { write }: { write: boolean },
): Promise<InstallSource> {
  const { repositories, namespaces } = context
  const configured = configuredRepositories(context)
  const named = configured.filter((repository) => repository.name === name)
  await namespaces.settle({ read: named.length > 0 ? named : configured, write })
  const { namespace } = identifierOf(id)
  const holder = namespaces.holder(namespace)
  const from = await repositories.choose(configured, id, { name, holder })
  return { from, heldBy: namespaces.heldByOther(namespace, from.name) }
}
