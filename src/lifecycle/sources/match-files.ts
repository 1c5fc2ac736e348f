import { identifierOf } from '../../schema/identifier.ts'
import { type LifecycleContext, snapshotOfPlugin } from '../context.ts'

/**
 * Whether the files are those that the journal names; their manifest is known then. A crash, or a full disk, between a swap of files and its fact, or the other way round: the journal decides
 * which version it is. Throws `storage_full` when the files cannot be put back.
 */
export async function matchFilesToJournal(context: LifecycleContext, id: string): Promise<boolean> {
  const { directory, logger, manifests } = context
  const wanted = snapshotOfPlugin(context, id).context
  const identifier = identifierOf(id)
  await directory.settle(identifier)
  if (Object.keys(wanted.integrity).length === 0 || !(await directory.exists(identifier))) return false
  const release = { version: wanted.version ?? '', integrity: wanted.integrity }
  const present = await directory.readManifest(identifier).catch(() => undefined)
  // A file edited by hand is told when the plugin is loaded; it is no other version.
  const isOther =
    present?.version === release.version
      ? await directory.hasInstead(identifier, release)
      : await directory.hasKept(identifier, release)
  if (!isOther) {
    if (present !== undefined) manifests.set(id, present)
    return present !== undefined
  }
  await directory.restore(identifier, release)
  logger.warn('Took the files of a plugin back to the version that the journal names', {
    plugin: id,
    version: wanted.version,
  })
  return false
}
