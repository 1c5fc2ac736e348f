import type { ProblemDetail } from '../../base/problem.ts'
import type { RepositorySettings } from '../../repository/repository.ts'
import { identifierOf } from '../../schema/names/identifier.ts'
import type { Manifest } from '../../schema/manifest/manifest.ts'
import { leftOutEnding } from '../../schema/parsing/lenient.ts'
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
  const { unmet, warnings } = judgeDependencies(
    plugin,
    installed,
    new Set(offers.map(({ fullId }) => fullId)),
  )
  return { unmet, warnings: asWritten(warnings, manifest) }
}

/** The entries by their places in the file, where some before them were left out. */
function asWritten(
  warnings: readonly ProblemDetail[],
  { warnings: ofFile = [] }: Pick<Manifest, 'warnings'>,
): ProblemDetail[] {
  const leftOut = new Set(
    ofFile.flatMap(({ path, message }) => (message.endsWith(leftOutEnding) ? (entryOf(path) ?? []) : [])),
  )
  return warnings.map((warning) => {
    let place = entryOf(warning.path)
    if (place === undefined) return warning
    for (const gone of [...leftOut].sort((one, other) => one - other)) if (gone <= place) place += 1
    return { ...warning, path: `/dependencies/${place}` }
  })
}

function entryOf(path: string): number | undefined {
  const [, index] = /^\/dependencies\/(\d+)(?:\/|$)/.exec(path) ?? []
  return index === undefined ? undefined : Number(index)
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
