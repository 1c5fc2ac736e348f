import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { FileSystem } from '../base/file-system.ts'
import type { Logger } from '../base/log.ts'
import { messageOf, Problem, systemErrorCode } from '../base/problem.ts'
import { directoryName, type PluginIdentifier } from '../schema/identifier.ts'
import type { Integrity } from '../schema/journal-event.ts'
import { allFiles, luaFiles, type Manifest, manifestFile, parseManifest } from '../schema/manifest.ts'
import { FileRefused, readContainedFile } from './contained-file.ts'
import { defaultRepositoryLimits } from './limits.ts'
import { pluginPlaces, recoverSwaps, removePlugin, restorePrevious, settleSwap } from './plugin-swap.ts'
import type { PluginDirectory } from './repository.ts'
import { sha256 } from './storage.ts'

/** Whether `read` failed because files are not there, rather than because they are no good. */
export function isMissingFiles(error: unknown): boolean {
  return (
    error instanceof Problem && error.code === 'manifest_invalid' && systemErrorCode(error.cause) === 'ENOENT'
  )
}

/** The plugins on disk, below `plugins/` of the data directory. People may edit them: nothing is trusted. */
export function createPluginDirectory(options: {
  directory: string
  files?: FileSystem
  logger: Logger
}): PluginDirectory {
  const { logger } = options
  const places = pluginPlaces(options.directory, options.files)
  const { fileBytes, pluginBytes } = defaultRepositoryLimits
  const folderOf = (plugin: PluginIdentifier): string => join(places.plugins, directoryName(plugin))

  async function readFile(root: string, plugin: PluginIdentifier, file: string): Promise<Uint8Array> {
    try {
      return await readContainedFile(root, file, fileBytes)
    } catch (error) {
      throw new Problem('manifest_invalid', whyUnreadable(plugin, file, error), {
        errors: [{ path: '', message: `${file} cannot be read` }],
        cause: error,
      })
    }
  }

  async function manifestIn(root: string, plugin: PluginIdentifier): Promise<[Manifest, Uint8Array]> {
    const bytes = await readFile(root, plugin, manifestFile)
    return [parseManifest(bytes, plugin), bytes]
  }

  return {
    async exists(plugin) {
      return stat(folderOf(plugin)).then(
        (found) => found.isDirectory(),
        () => false,
      )
    },

    async read(plugin) {
      const root = folderOf(plugin)
      const [manifest, manifestBytes] = await manifestIn(root, plugin)
      const lua = new Set(luaFiles(manifest))
      const contents = new Map<string, Uint8Array>()
      let size = 0
      for (const file of allFiles(manifest)) {
        const bytes =
          file === manifestFile
            ? manifestBytes
            : await readFile(root, plugin, file).catch((error: unknown) => {
                // A document that is not there does not keep the plugin from running.
                if (!lua.has(file) && isMissingFiles(error)) return undefined
                throw error
              })
        if (bytes === undefined) continue
        size += bytes.length
        if (size > pluginBytes) {
          throw new Problem(
            'manifest_invalid',
            `The files of ${plugin.fullId} are larger than ${pluginBytes} bytes together; make them smaller.`,
          )
        }
        contents.set(file, bytes)
      }
      return {
        manifest,
        files: Object.fromEntries([...contents].filter(([file]) => lua.has(file))),
        integrity: integrityOf(contents),
      }
    },

    async readManifest(plugin) {
      const [manifest] = await manifestIn(folderOf(plugin), plugin)
      return manifest
    },

    async previousManifest(plugin) {
      try {
        const [manifest] = await manifestIn(join(places.previous, directoryName(plugin)), plugin)
        return manifest
      } catch (error) {
        if (!isMissingFiles(error)) {
          logger.warn('The previous version of a plugin cannot be used', {
            plugin: plugin.fullId,
            error: messageOf(error),
          })
        }
        return undefined
      }
    },

    async readDocument(plugin, file) {
      const root = folderOf(plugin)
      const [manifest] = await manifestIn(root, plugin)
      if (!manifest.docs?.some((document) => document.file === file)) {
        throw new Problem('doc_not_found', `The manifest of ${plugin.fullId} lists no document of this name.`)
      }
      try {
        return await readContainedFile(root, file, fileBytes)
      } catch (error) {
        throw new Problem('doc_not_found', whyUnreadable(plugin, file, error), { cause: error })
      }
    },

    settle: (plugin) => settleSwap(places, plugin),
    restorePrevious: (plugin) => restorePrevious(places, plugin),
    remove: (plugin) => removePlugin(places, plugin),
    recover: () => recoverSwaps(places, logger),
  }
}

/** Hashes by file name, in the order of the names, so that equal contents give equal JSON. */
export function integrityOf(contents: ReadonlyMap<string, Uint8Array>): Integrity {
  const byName = [...contents].sort(([left], [right]) => (left < right ? -1 : 1))
  return Object.fromEntries(byName.map(([file, bytes]) => [file, sha256(bytes)]))
}

function whyUnreadable(plugin: PluginIdentifier, file: string, error: unknown): string {
  const place = `plugins/${directoryName(plugin)}/${file}`
  if (error instanceof FileRefused) return `The file ${place} ${error.message}.`
  const code = systemErrorCode(error)
  if (code === 'ENOENT' || code === 'ENOTDIR') {
    return `The file ${place} is missing; put it there, or update the plugin to fetch it again.`
  }
  return `The file ${place} cannot be read (${code ?? messageOf(error)}); check its permissions.`
}
