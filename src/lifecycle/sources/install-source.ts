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
  const { repositories, namespaces, journal } = context
  const configured = configuredRepositories(context)
  const named = configured.filter((repository) => repository.name === name)
  const { namespace } = identifierOf(id)
  const { namespaces: written } = journal.live.host.context
  const first = Object.hasOwn(written, namespace) ? written[namespace] : undefined
  // It stays the first while it is configured, and others may take long to answer.
  if (!configured.some((repository) => repository.name === first))
    await namespaces.settle({ read: named.length > 0 ? named : configured, write })
  const holder = namespaces.holder(namespace)
  const from = await repositories.choose(configured, id, { name, holder })
  return { from, heldBy: namespaces.heldByOther(namespace, from.name) }
}
