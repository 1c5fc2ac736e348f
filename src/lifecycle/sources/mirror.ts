import { identifierOf } from '../../schema/names/identifier.ts'
import { type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import type { KeptFiles } from '../../repository/repository.ts'
import { isOfJournal, matchFilesToJournal, readAhead } from './match-files.ts'

/**
 * Sees to it that this host has the files of a plugin that the journal names, those of kept versions included, from
 * where all hosts of the fleet find them. Under the plugin's mutex. Throws an Error that says what is missing of the
 * present version.
 */
export async function mirrorFiles(context: LifecycleContext, id: string): Promise<void> {
  const { directory, sharedFiles, manifests } = context
  if (sharedFiles === undefined) return
  const identifier = identifierOf(id)
  const { integrity, kept } = snapshotOfPlugin(context, id).context
  await matchFilesToJournal(context, id, { mirrored: true })
  const present = await readAhead(context, id)
  if (Object.keys(integrity).length > 0 && (present === undefined || !isOfJournal(context, id, present)))
    await directory.place(identifier, await sharedFiles.fetch(id, integrity))
  for (const contents of await missingReleases(context, id, kept)) await directory.keep(identifier, contents)
  await directory.prune(identifier, kept)
  await manifests.refresh(id)
}

/** Nobody may have one of them any more: older versions of Lupine kept one. The others are a way back all the same. */
async function missingReleases(
  { directory, logger, sharedFiles }: LifecycleContext,
  id: string,
  kept: readonly KeptFiles[],
): Promise<ReadonlyMap<string, Uint8Array>[]> {
  const found = await Promise.all(
    kept.map(async ({ version, integrity }) => {
      if (await directory.hasKept(identifierOf(id), { version, integrity })) return undefined
      return sharedFiles?.fetch(id, integrity).catch((error: unknown) => {
        const message = 'The files of a version of a plugin that was replaced could not be fetched'
        logger.warn(message, { plugin: id, version, error })
        return undefined
      })
    }),
  )
  return found.filter((contents) => contents !== undefined)
}
