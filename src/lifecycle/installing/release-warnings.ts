import type { Logger } from '../../base/log/log.ts'
import { isNewer } from '../../repository/versions.ts'
import type { Manifest } from '../../schema/manifest/manifest.ts'
import type { PermissionEntry } from '../../schema/manifest/permissions.ts'

/** What the host's log says of a version that has been put in place. */

/** The load says them in the plugin's own log, too. */
export function warnOfManifest(logger: Logger, id: string, { warnings }: Manifest): void {
  if (warnings !== undefined) logger.warn('The manifest of a plugin has mistakes', { plugin: id, warnings })
}

/** `wanted`: the version that was asked for; without one it is what the repository has, which may have gone back. */
export function tellOfUpdate(
  logger: Logger,
  id: string,
  {
    was,
    wanted,
    ...now
  }: { was: string | null; version: string; repository: string; wanted: string | undefined },
): void {
  const done = { plugin: id, was, ...now }
  if (wanted === undefined && was !== null && isNewer(was, now.version))
    logger.warn('An update went back to an older version: the repository offers no newer one', done)
  else logger.info('Updated a plugin', done)
}

export function warnOfPermissions(
  logger: Logger,
  id: string,
  next: Manifest,
  added: readonly PermissionEntry[],
): void {
  if (added.length === 0) return
  logger.warn('An update may do more than the version before it', {
    plugin: id,
    version: next.version,
    permissionsAdded: added.map(({ kind, value }) => `${kind} ${value}`),
  })
}
