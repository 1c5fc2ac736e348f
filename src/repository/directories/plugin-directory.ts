import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type FileSystem, isNotFound } from '../../base/files/file-system.ts'
import type { Logger } from '../../base/log/log.ts'
import { isSystemFault, rethrowSystemFault } from '../../base/files/system-fault.ts'
import { storageFault } from '../../base/files/storage-fault.ts'
import { messageOf, Problem, systemErrorCode } from '../../base/problem.ts'
import { directoryName, type PluginIdentifier } from '../../schema/names/identifier.ts'
import type { Integrity } from '../../schema/journal/journal-event.ts'
import { allFiles, entryFile, luaFiles, type Manifest, manifestFile } from '../../schema/manifest/manifest.ts'
import { FileRefused, readContainedFile } from '../sources/contained-file.ts'
import { defaultRepositoryLimits } from '../limits.ts'
import {
  keepStaged,
  keptPlaces,
  pluginPlaces,
  pruneKept,
  recoverSwaps,
  removePlugin,
  replacedPlugins,
  requireReadable,
  settleSwap,
  swapIn,
} from './plugin-swap.ts'
import type { InstalledFiles, KeptFiles, PluginDirectory } from '../repository.ts'
import { createManifestParser } from './parsed-manifests.ts'
import { writeStaged } from './staging.ts'
import { sha256 } from './storage.ts'

/** Whether `read` failed because files are not there, rather than because they are no good. */
export function isMissingFiles(error: unknown): boolean {
  return (
    error instanceof Problem && error.code === 'manifest_invalid' && systemErrorCode(error.cause) === 'ENOENT'
  )
}

/** Files of one plugin that are read at the same time. */
const readAtOnce = 4

/** The plugins on disk, below `plugins/` of the data directory. People may edit them: nothing is trusted. */
export function createPluginDirectory(options: {
  directory: string
  files?: FileSystem
  logger: Logger
}): PluginDirectory {
  const { logger } = options
  const places = pluginPlaces(options.directory, options.files)
  const { fileBytes, pluginBytes } = defaultRepositoryLimits
  const parse = createManifestParser()
  const folderOf = (plugin: PluginIdentifier): string => join(places.plugins, directoryName(plugin))

  async function readFile(root: string, plugin: PluginIdentifier, file: string): Promise<Uint8Array> {
    try {
      return await readContainedFile(root, file, fileBytes)
    } catch (error) {
      const why = whyUnreadable(plugin, file, error)
      if (isSystemFault(error)) throw new Problem('internal', why, { cause: error })
      throw new Problem('manifest_invalid', why, {
        errors: [{ path: '', message: `${file} cannot be read` }],
        cause: error,
      })
    }
  }

  async function manifestIn(root: string, plugin: PluginIdentifier): Promise<[Manifest, Uint8Array]> {
    const bytes = await readFile(root, plugin, manifestFile)
    return [parse(bytes, plugin), bytes]
  }

  async function readIn(root: string, plugin: PluginIdentifier): Promise<InstalledFiles> {
    const { manifest, lua, contents } = await contentsIn(root, plugin)
    return {
      manifest,
      files: Object.fromEntries([...contents].filter(([file]) => lua.has(file))),
      integrity: integrityOf(contents),
    }
  }

  async function contentsIn(
    root: string,
    plugin: PluginIdentifier,
  ): Promise<{ manifest: Manifest; lua: ReadonlySet<string>; contents: Map<string, Uint8Array> }> {
    // Every plugin has it, whatever else its manifest names.
    const entry = readFile(root, plugin, entryFile)
    entry.catch(() => undefined)
    const [manifest, manifestBytes] = await manifestIn(root, plugin)
    const lua = new Set(luaFiles(manifest))
    const contents = new Map<string, Uint8Array>([[manifestFile, manifestBytes]])
    let size = manifestBytes.length
    const left = [...allFiles(manifest)].filter((file) => file !== manifestFile)
    while (left.length > 0 && size <= pluginBytes) {
      const files = left.splice(0, readAtOnce)
      const found = await Promise.allSettled(
        files.map((file) => (file === entryFile ? entry : readFile(root, plugin, file))),
      )
      for (const [index, file] of files.entries()) {
        const outcome = found[index]
        if (outcome?.status === 'fulfilled') {
          contents.set(file, outcome.value)
          size += outcome.value.length
        } else if (lua.has(file) || !isMissingFiles(outcome?.reason)) {
          // A document that is not there does not keep the plugin from running.
          throw outcome?.reason
        }
      }
    }
    if (size > pluginBytes) {
      throw new Problem(
        'manifest_invalid',
        `The files of ${plugin.fullId} are larger than ${pluginBytes} bytes together; make them smaller.`,
      )
    }
    return { manifest, lua, contents }
  }

  /** Where a version that was replaced is; undefined when it is not there any more. */
  async function findKept(plugin: PluginIdentifier, release: KeptFiles): Promise<string | undefined> {
    let sameVersion: string | undefined
    for (const path of await keptPlaces(places, plugin)) {
      const found = await versionIn(path, plugin)
      if (found !== release.version) continue
      if (await hasFiles(path, plugin, release.integrity)) return path
      sameVersion ??= path
    }
    return sameVersion
  }

  /** undefined: it cannot be used. */
  async function versionIn(root: string, plugin: PluginIdentifier): Promise<string | undefined> {
    try {
      const [manifest] = await manifestIn(root, plugin)
      return manifest.version
    } catch (error) {
      // Nobody knows what is in there: it must not be taken for another version, nor removed for that.
      if (isSystemFault(error)) throw error
      if (!isMissingFiles(error)) {
        logger.warn('A kept version of a plugin cannot be used', { plugin: plugin.fullId, error })
      }
      return undefined
    }
  }

  async function hasFiles(root: string, plugin: PluginIdentifier, integrity: Integrity): Promise<boolean> {
    const found = await readIn(root, plugin).catch(rethrowSystemFault)
    return found !== undefined && isDeepStrictEqual(found.integrity, integrity)
  }

  async function isAsPresent(plugin: PluginIdentifier, root: string): Promise<boolean> {
    const present = await readIn(folderOf(plugin), plugin).catch(rethrowSystemFault)
    return present !== undefined && (await hasFiles(root, plugin, present.integrity))
  }

  return {
    async exists(plugin) {
      return stat(folderOf(plugin)).then(
        (found) => found.isDirectory(),
        () => false,
      )
    },

    read: (plugin) => readIn(folderOf(plugin), plugin),

    async readManifest(plugin) {
      const [manifest] = await manifestIn(folderOf(plugin), plugin)
      return manifest
    },

    hasKept: async (plugin, release) => (await findKept(plugin, release)) !== undefined,

    async readKeptManifest(plugin, release) {
      const path = await findKept(plugin, release)
      return path === undefined ? undefined : (await manifestIn(path, plugin))[0]
    },

    async matchesKeptVersion(plugin, release) {
      for (const path of await keptPlaces(places, plugin)) {
        if ((await versionIn(path, plugin)) !== release.version) continue
        if (!(await hasFiles(path, plugin, release.integrity))) continue
        return !(await hasFiles(folderOf(plugin), plugin, release.integrity))
      }
      return false
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
        const code = isSystemFault(error) ? 'internal' : 'doc_not_found'
        throw new Problem(code, whyUnreadable(plugin, file, error), { cause: error })
      }
    },

    settle: (plugin) => settleSwap(places, plugin),
    async restore(plugin, release) {
      const path = await findKept(plugin, release)
      if (path === undefined) {
        throw new Problem(
          'invalid_transition',
          `The files of ${plugin.fullId} ${release.version} are not on this host any more; update to that version instead.`,
        )
      }
      await swapIn(places, plugin, path)
    },
    async prune(plugin, releases) {
      try {
        // To tell them apart takes reading all of them.
        if ((await keptPlaces(places, plugin)).length <= releases.length) return
        const found = await Promise.all(releases.map((release) => findKept(plugin, release)))
        const wanted = new Set(found.filter((path) => path !== undefined))
        await pruneKept(places, plugin, wanted, (previous) => isAsPresent(plugin, previous))
      } catch (error) {
        logger.warn('Versions that are not needed any more could not be removed', {
          plugin: plugin.fullId,
          error,
        })
      }
    },
    async place(plugin, contents) {
      await swapIn(places, plugin, await writeStaged(places, plugin, contents))
    },
    keep: async (plugin, contents) => keepStaged(places, plugin, await writeStaged(places, plugin, contents)),
    contents: async (plugin) => (await contentsIn(folderOf(plugin), plugin)).contents,
    replaced: () => replacedPlugins(places),
    remove: (plugin) => removePlugin(places, plugin),
    requireReadable: () => requireReadable(places),
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
  if (isNotFound(error)) {
    return `The file ${place} is missing; put it there, or update the plugin to fetch it again.`
  }
  const reason = isSystemFault(error) ? storageFault(error) : undefined
  if (reason !== undefined) return `The file ${place} cannot be read. ${reason}`
  return `The file ${place} cannot be read (${code ?? messageOf(error)}); check its permissions.`
}
