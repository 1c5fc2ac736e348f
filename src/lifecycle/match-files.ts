import { identifierOf } from '../schema/identifier.ts'
import { type LifecycleContext, snapshotOfPlugin } from './context.ts'

/**
 * A crash, or a full disk, between a swap of files and its fact, or the other way round: the journal decides
 * which version it is. Throws `storage_full` when the files cannot be put back.
 */
export async function matchFilesToJournal(context: LifecycleContext, id: string): Promise<void> {
  const { directory, logger } = context
  const wanted = snapshotOfPlugin(context, id).context
  const identifier = identifierOf(id)
  await directory.settle(identifier)
  if (Object.keys(wanted.integrity).length === 0 || !(await directory.exists(identifier))) return
  const previous = await directory.previousManifest(identifier)
  if (previous === undefined || previous.version !== wanted.version) return
  const present = await directory.readManifest(identifier).catch(() => undefined)
  if (present?.version === wanted.version) return
  await directory.restorePrevious(identifier)
  logger.warn('Took the files of a plugin back to the version that the journal names', {
    plugin: id,
    version: wanted.version,
  })
}
