import { join } from 'node:path'
import { createFile, type FileSystem, readNames, syncDirectory } from '../../base/files/file-system.ts'
import type { Logger } from '../../base/log/log.ts'
import { privateFileMode } from '../../base/files/private-files.ts'
import { makeDataFolder } from '../../base/files/storage-fault.ts'
import { systemErrorCode } from '../../base/problem.ts'
import { directoryName, identifierOf } from '../../schema/names/identifier.ts'

/** Folder in the data directory; one empty file a plugin. */
const folderName = '.purging'

/**
 * Which uninstallations are about to remove files or stored values. A crash may come in between, or the disk refuse it, so the
 * next start repeats those, or the next installation; any other leaves alone what somebody has put there since.
 */
export interface PendingPurges {
  /** It is on disk when this resolves. Throws what the system says. */
  begin(plugin: string): Promise<void>
  /** Never rejects: one that stays is looked at again by the next start. */
  end(plugin: string): Promise<void>
  /** Those that did not come to their end. Never rejects. */
  left(): Promise<(plugin: string) => boolean>
}

export function createPendingPurges(settings: {
  /** The data directory. */
  directory: string
  files: FileSystem
  logger: Logger
}): PendingPurges {
  const { files, logger } = settings
  const folder = join(settings.directory, folderName)
  const nameOf = (plugin: string): string => directoryName(identifierOf(plugin))

  return {
    async begin(plugin) {
      await makeDataFolder(files, folder)
      try {
        await createFile(files, join(folder, nameOf(plugin)), '', privateFileMode)
      } catch (error) {
        if (systemErrorCode(error) !== 'EEXIST') throw error
        // An attempt before may have come no further than to its name.
        await syncDirectory(files, folder)
      }
    },
    async end(plugin) {
      try {
        await files.rm(join(folder, nameOf(plugin)), { force: true })
      } catch (error) {
        logger.warn('It could not be noted that an uninstallation has removed everything', { plugin, error })
      }
    },
    async left() {
      const names = new Set(
        await readNames(files, folder).catch((error: unknown) => {
          logger.warn('A folder cannot be read', { path: folder, error })
          return []
        }),
      )
      return (plugin) => names.has(nameOf(plugin))
    },
  }
}
