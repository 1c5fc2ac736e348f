import { Problem } from '../../base/problem.ts'
import type { PluginIdentifier } from '../../schema/names/identifier.ts'
import type { RepositoryEntry } from '../../schema/manifest/repository-index.ts'
import type { OpenRepository } from './index-cache.ts'
import type { RepositorySettings, RequestedVersion } from '../repository.ts'
import { isNewer, isPrerelease, isSameVersion } from '../versions.ts'

/** Versions that are named to who has asked for one that is not there. */
const namedVersions = 20

/**
 * Of the entries of a plugin, newest first, the one that is offered to who has `installed`: the newest release. A
 * prerelease is offered where there is no release, and to who has a prerelease that is newer than all releases.
 */
export function newestFor(
  entries: readonly RepositoryEntry[],
  installed: string | undefined,
): RepositoryEntry | undefined {
  const release = entries.find(({ version }) => !isPrerelease(version))
  if (release === undefined || installed === undefined) return release ?? entries[0]
  return isPrerelease(installed) && isNewer(installed, release.version) ? entries[0] : release
}

/**
 * The entry of the version asked for, else the newest: its manifest may name the version all the same, as whoever has looked
 * at it was told.
 */
export function chooseEntry(
  { byPlugin, unusable }: OpenRepository,
  repository: RepositorySettings,
  plugin: PluginIdentifier,
  { version, installed }: RequestedVersion,
): RepositoryEntry {
  const entries = byPlugin.get(plugin.fullId) ?? []
  const newest = newestFor(entries, installed)
  if (newest === undefined) {
    const wrong = unusable.find(({ fullId }) => fullId === plugin.fullId)
    if (wrong === undefined) throw notOfferedProblem(repository, plugin, undefined, [])
    const list = wrong.errors.map(({ path, message }) => `${path} ${message}`).join('; ')
    throw new Problem(
      'repository_unreachable',
      `The entry of ${plugin.fullId} in the repository "${repository.name}" cannot be used: ${list}. Tell its maintainer.`,
      { errors: wrong.errors },
    )
  }
  if (version === undefined) return newest
  return entries.find((entry) => isSameVersion(entry.version, version)) ?? newest
}

export function notOfferedProblem(
  { name }: RepositorySettings,
  { fullId }: PluginIdentifier,
  version: string | undefined,
  available: readonly string[],
): Problem {
  return new Problem(
    'plugin_not_in_repository',
    version === undefined
      ? `The repository "${name}" has no ${fullId}; its index may name it otherwise.`
      : `The repository "${name}" has no version ${version} of ${fullId}; it has ${listed(available)}.`,
  )
}

/** An index may list thousands, of which nobody reads the oldest. */
function listed(versions: readonly string[]): string {
  const more = versions.length - namedVersions
  const named = versions.slice(0, namedVersions).join(', ')
  return more > 0 ? `${named} and ${more} older ones` : named
}
