import type { Logger } from '../../base/log/log.ts'
import type { Manifest } from '../../schema/manifest/manifest.ts'
import type { PermissionEntry } from '../../schema/manifest/permissions.ts'

/** What the host's log says of a version that has been put in place. */

/** The load says them in the plugin's own log, too. */
export function warnOfManifest(logger: Logger, id: string, { warnings }: Manifest): void {
  if (warnings !== undefined) logger.warn('The manifest of a plugin has mistakes', { plugin: id, warnings })
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
