import { isDeepStrictEqual } from 'node:util'
import { Problem, type ProblemCode } from '../../base/problem.ts'
import type { InstalledFiles } from '../../repository/repository.ts'
import { isSameVersion } from '../../repository/versions.ts'
import { identifierOf } from '../../schema/names/identifier.ts'
import type { Release } from '../../schema/journal/journal-event.ts'
import type { LifecycleContext } from '../context.ts'
import type { InstallRequest } from '../lifecycle.ts'
import { lastInstallation } from './last-installation.ts'

/** Files that an uninstallation left on disk, as they can be installed again. */
export type LeftoverFiles = Omit<Release, 'config'> & Pick<InstalledFiles, 'manifest'>

/** Whoever offered the plugin does not any more, or not now. */
const goneCodes: ReadonlySet<ProblemCode> = new Set<ProblemCode>([
  'repository_unreachable',
  'repository_unknown',
  'plugin_not_in_repository',
])

/**
 * The files on disk that stand in for a repository which failed with `error`. Rethrows that when there are none, or when
 * they are not what was asked for.
 */
export async function findLeftoverFiles(
  context: LifecycleContext,
  { fullId, repository, version }: InstallRequest,
  error: unknown,
): Promise<LeftoverFiles> {
  if (!(error instanceof Problem) || !goneCodes.has(error.code)) throw error
  const { directory, logger } = context
  const identifier = identifierOf(fullId)
  const before = lastInstallation(context, fullId)
  // Another one by name is asked for what it has, not for what is here.
  if (repository !== undefined && repository !== before?.repository) throw error
  await directory.settle(identifier)
  const found = await directory.read(identifier).catch(() => undefined)
  if (found === undefined || (version !== undefined && !isSameVersion(version, found.manifest.version)))
    throw error
  const { manifest, integrity } = found
  if (before !== undefined && !isDeepStrictEqual(before.integrity, integrity))
    logger.warn('The files of a plugin are not those that were uninstalled', { plugin: fullId })
  return {
    manifest,
    version: manifest.version,
    indexVersion: (before?.version === manifest.version ? before.indexVersion : null) ?? manifest.version,
    repository: before?.repository ?? null,
    integrity,
  }
}
