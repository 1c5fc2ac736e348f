import { dirname, join } from 'node:path'
import { Problem, systemErrorCode } from '../../base/problem.ts'
import { asStorageProblem } from '../../base/files/storage-fault.ts'
import type { PluginIdentifier } from '../../schema/names/identifier.ts'
import {
  allFiles,
  luaFiles,
  type Manifest,
  manifestFile,
  parseManifest,
} from '../../schema/manifest/manifest.ts'
import { escapePointer } from '../../schema/parsing/json-pointer.ts'
import type { RepositoryEntry } from '../../schema/manifest/repository-index.ts'
import type { RepositoryLimits } from '../limits.ts'
import { isContainedPath } from '../sources/contained-file.ts'
import { isThere, makeStagingDirectory, type PluginPlaces } from './plugin-swap.ts'
import { MissingFileError, type Source, SourceError } from '../sources/source.ts'
import { sha256, syncDirectory, writeDurably } from './storage.ts'

/** A plugin in memory, whole and as the index promised it. */
export interface FetchedPlugin {
  manifest: Manifest
  contents: Map<string, Uint8Array>
}

export interface FetchOptions {
  source: Source
  entry: RepositoryEntry
  /** The index is signed: then its hashes must cover every file, for the signature covers only the index. */
  signed: boolean
  plugin: PluginIdentifier
  limits: RepositoryLimits
  signal: AbortSignal
  /** Is told of documents that are not there. */
  warn(message: string, file: string): void
  /** Refuses the manifest by throwing, before anything else is fetched. */
  accept(manifest: Manifest): void
}

/** Fetches the manifest and all it names. Nothing is written. Throws `SourceError` and `Problem`. */
export async function fetchPlugin(options: FetchOptions): Promise<FetchedPlugin> {
  const { source, entry, signed, plugin, limits, signal, accept, warn } = options
  const contents = new Map<string, Uint8Array>()
  let size = 0

  const pathOf = (file: string): string => (entry.path === '.' ? file : `${entry.path}/${file}`)

  async function fetchFile(file: string): Promise<boolean> {
    // What a folder is asked ends by itself, however long all of it takes.
    signal.throwIfAborted()
    const bytes = await source.readFile(pathOf(file), limits.fileBytes, signal, isVouchedFor(entry, file))
    if (bytes === undefined) return false
    size += bytes.length
    if (size > limits.pluginBytes) {
      throw new SourceError(
        `the files of ${plugin.fullId} are larger than ${limits.pluginBytes} bytes together`,
      )
    }
    verify(plugin, entry, file, bytes)
    contents.set(file, bytes)
    return true
  }

  if (signed) requireHashes(plugin, entry, [manifestFile])
  if (!(await fetchFile(manifestFile)))
    throw new MissingFileError(plugin.fullId, manifestFile, pathOf(manifestFile))
  const manifest = parseManifest(contents.get(manifestFile), plugin)
  accept(manifest)
  if (signed) requireHashes(plugin, entry, allFiles(manifest))
  const lua = new Set(luaFiles(manifest))
  const waiting = allFiles(manifest).filter((file) => file !== manifestFile)
  const fetchInTurn = async (): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      if (await fetchFile(file)) continue
      if (lua.has(file)) throw new MissingFileError(plugin.fullId, file, pathOf(file))
      if (signed) {
        throw new SourceError(
          `${plugin.fullId} comes with ${file}, which is signed for, but it is not there; tell its maintainer`,
        )
      }
      // A plugin runs without its documents.
      warn('A document of a plugin is not in its repository', file)
    }
  }
  await Promise.all(Array.from({ length: limits.parallelRequests }, fetchInTurn))
  return { manifest, contents }
}

function requireHashes(
  { fullId }: PluginIdentifier,
  { sha256: promised = {} }: RepositoryEntry,
  files: readonly string[],
): void {
  const missing = files.filter((file) => !Object.hasOwn(promised, file))
  if (missing.length === 0) return
  throw new Problem(
    'signature_invalid',
    `The index of this repository is signed, but has no sha256 for ${missing.join(', ')} of ${fullId}, so nobody vouches for ${missing.length === 1 ? 'that file' : 'those files'}. Tell its maintainer: "lupine sign" fills it in.`,
    { errors: missing.map((file) => ({ path: `/sha256/${escapePointer(file)}`, message: 'is missing' })) },
  )
}

function isVouchedFor({ sha256: promised }: RepositoryEntry, file: string): boolean {
  return promised !== undefined && Object.hasOwn(promised, file)
}

function verify({ fullId }: PluginIdentifier, entry: RepositoryEntry, file: string, bytes: Uint8Array): void {
  if (!isVouchedFor(entry, file)) return
  const [wanted, found] = [entry.sha256?.[file]?.toLowerCase(), sha256(bytes)]
  if (wanted === found) return
  throw new Problem(
    'integrity_mismatch',
    `The file ${file} of ${fullId} is not the one that the index promises. If it has just been published, try again later; if not, tell the maintainer of the repository.`,
    { errors: [{ path: `/sha256/${file}`, message: `promised is ${wanted}, fetched was ${found}` }] },
  )
}

/** The file system cannot take such names, or not side by side. */
const unstorableNames: ReadonlySet<string | undefined> = new Set([
  'EEXIST',
  'EISDIR',
  'ENOTDIR',
  'ENAMETOOLONG',
  'EILSEQ',
  'EINVAL',
])

/** Writes a plugin beside the installed ones and waits until it is on disk. Gives its directory. */
export async function writeStaged(
  places: PluginPlaces,
  { fullId }: PluginIdentifier,
  contents: ReadonlyMap<string, Uint8Array>,
): Promise<string> {
  const outside = [...contents.keys()].find((file) => !isContainedPath(file))
  if (outside !== undefined)
    throw new Problem('manifest_invalid', `${fullId} has a file at ${outside}, which is outside its folder.`)
  const root = await makeStagingDirectory(places)
  try {
    await asStorageProblem(async () => {
      const directories = new Set([root])
      for (const [file, bytes] of contents) {
        await writeDurably(places.files, root, file, bytes)
        for (let folder = dirname(file); folder !== '.'; folder = dirname(folder)) {
          directories.add(join(root, folder))
        }
      }
      for (const directory of directories) await syncDirectory(places.files, directory)
    })
    return root
  } catch (error) {
    const code = systemErrorCode(error)
    // So Windows, and exFAT in some systems, say that a name has a character that they do not know.
    const isRefusedName = unstorableNames.has(code) || (code === 'ENOENT' && (await isThere(places, root)))
    await places.files.rm(root, { recursive: true, force: true }).catch(() => undefined)
    if (error instanceof Problem || !isRefusedName) throw error
    throw new Problem(
      'manifest_invalid',
      `The manifest of ${fullId} names files that cannot be stored here (${code}).`,
      { cause: error },
    )
  }
}
