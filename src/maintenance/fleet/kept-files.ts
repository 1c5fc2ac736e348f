import { isDeepStrictEqual } from 'node:util'
import type { FileSystem } from '../../base/files/file-system.ts'
import { rethrowSystemFault } from '../../base/files/system-fault.ts'
import { integrityOf } from '../../repository/directories/plugin-directory.ts'
import { keptPlaces, pluginPlaces } from '../../repository/directories/plugin-swap.ts'
import { defaultRepositoryLimits } from '../../repository/limits.ts'
import { readContainedFile } from '../../repository/sources/contained-file.ts'
import type { Integrity } from '../../schema/journal/journal-event.ts'
import { identifierOf } from '../../schema/names/identifier.ts'

/** Contents of the versions of a plugin that were replaced, of those that the data directory still has as they were installed. */
export async function readKept(
  { directory, files }: { directory: string; files: FileSystem },
  id: string,
  kept: readonly { integrity: Integrity }[],
): Promise<Uint8Array[]> {
  const contents: Uint8Array[] = []
  const folders = await keptPlaces(pluginPlaces(directory, files), identifierOf(id))
  for (const { integrity } of kept) {
    for (const folder of folders) {
      const content = await readContents(folder, integrity).catch(rethrowSystemFault)
      if (content === undefined || !isDeepStrictEqual(integrityOf(content), integrity)) continue
      contents.push(...content.values())
      break
    }
  }
  return contents
}

/** The files that are named there, as they are now. */
export async function readContents(root: string, integrity: Integrity): Promise<Map<string, Uint8Array>> {
  const contents = new Map<string, Uint8Array>()
  for (const file of Object.keys(integrity).sort()) {
    contents.set(file, await readContainedFile(root, file, defaultRepositoryLimits.fileBytes))
  }
  return contents
}
