import type { RepositorySettings } from '../../repository/repository.ts'
import { identifierOf } from '../../schema/names/identifier.ts'
import type { Manifest } from '../../schema/manifest/manifest.ts'
import { configuredRepositories, installedPlugins, type LifecycleContext } from '../context.ts'
import {
  absentBareNames,
  type DependencyVerdict,
  judgeDependencies,
  type UnmetDependency,
} from '../manifests/dependencies.ts'

/**
 * What the plugin needs, held against what is installed. The repositories are asked only about a name without
 * namespace that nobody installed bears: it may be no plugin at all.
 */
export async function checkDependencies(
  context: LifecycleContext,
  id: string,
  manifest: Manifest,
): Promise<DependencyVerdict> {
  // Most need nothing, and there may be hundreds: each would go through all others.
  if (manifest.dependencies === undefined || manifest.dependencies.length === 0)
    return { unmet: [], warnings: [] }
  const plugin = { ...manifest, id }
  const installed = installedPlugins(context)
  const isClear = absentBareNames(plugin, installed).length === 0
  const offers = isClear ? [] : await context.repositories.offers(repositoriesOf(context, id))
  return judgeDependencies(plugin, installed, new Set(offers.map(({ fullId }) => fullId)))
}

/** Those that may have plugins of its namespace: what is known to be of another one need not answer before it is loaded. */
function repositoriesOf(context: LifecycleContext, id: string): RepositorySettings[] {
  const { [identifierOf(id).namespace]: own, ...others } = context.journal.live.host.context.namespaces
  const apart = new Set(Object.values(others))
  return configuredRepositories(context).filter(({ name }) => name === own || !apart.has(name))
}

/** All of it in one text. */
export function unmetMessage(unmet: readonly Pick<UnmetDependency, 'message'>[]): string {
  return unmet.map(({ message }) => message).join(' ')
}
