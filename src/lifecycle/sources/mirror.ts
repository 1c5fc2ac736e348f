import { identifierOf } from '../../schema/names/identifier.ts'
import { type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import { isOfJournal, matchFilesToJournal, readAhead } from './match-files.ts'

/**
 * Sees to it that this host has the files of a plugin that the journal names, those of kept versions included, from
 * where all hosts of the fleet find them. Under the plugin's mutex. Throws an Error that says what is missing.
 */
export async function mirrorFiles(context: LifecycleContext, id: string): Promise<void> {
  const { directory, sharedFiles, manifests } = context
  if (sharedFiles === undefined) return
  const identifier = identifierOf(id)
  const { integrity, kept } = snapshotOfPlugin(context, id).context
  await matchFilesToJournal(context, id)
  const present = await readAhead(context, id)
  if (Object.keys(integrity).length > 0 && (present === undefined || !isOfJournal(context, id, present)))
    await directory.place(identifier, await sharedFiles.fetch(id, integrity))
  for (const release of kept) {
    if (await directory.hasKept(identifier, release)) continue
    await directory.keep(identifier, await sharedFiles.fetch(id, release.integrity))
  }
  await directory.prune(identifier, kept)
  await manifests.refresh(id)
}
