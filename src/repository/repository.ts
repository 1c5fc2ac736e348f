import type { PluginIdentifier } from '../schema/names/identifier.ts'
import type { Integrity } from '../schema/journal/journal-event.ts'
import type { Manifest } from '../schema/manifest/manifest.ts'
import type { CatalogEntry, Repository } from '../schema/api/api.ts'
import type { RepositoryIndex } from '../schema/manifest/repository-index.ts'

/** Where plugins come from (contract, section 7), and where they are kept. */

export interface RepositorySettings {
  name: string
  /** A directory, `file:` URL, or an `http(s)` base URL. */
  url: string
  /** Pinned: an index that is not signed with this key of minisign is refused. */
  publicKey?: string
}

/** What a repository last said of itself; `error`: why its index could not be read, in one sentence. */
export type RepositoryStatus = Omit<Repository, 'namespaceHeldBy'>

/** One line of the catalog, without what only the host knows. */
export interface Offer extends Omit<
  CatalogEntry,
  'namespaceHeldBy' | 'installedVersion' | 'updateAvailable' | 'compatible'
> {
  minHostVersion: string | null
}

/** A plugin that has been fetched and checked, in a staging directory beside the plugins. */
export interface StagedPlugin {
  manifest: Manifest
  /** All its files, by their paths. */
  contents: ReadonlyMap<string, Uint8Array>
  integrity: Integrity
  repository: string
  /** Version that the index named; the manifest's counts. */
  indexVersion: string
  /** Puts the whole directory in place at once; what was there is kept for `restore`. */
  swapIn(): Promise<void>
  /** Takes `swapIn` back: the plugin and its previous version are again what they were before. */
  undo(): Promise<void>
  /** Removes what was staged and not put in place; call it at the end in any case. Never rejects. */
  discard(): Promise<void>
}

/** A plugin that has been fetched and checked to look at; nothing of it is on disk. */
export interface PluginPreview {
  manifest: Manifest
  integrity: Integrity
  repository: string
  /** Null: any host will do. It is not refused here. */
  minHostVersion: string | null
}

/** Remembers when indexes were signed: an old one comes with a good signature, too. */
export interface SigningTimes {
  /** The latest that was seen, in seconds since 1970. */
  latest(repository: RepositorySettings): number | undefined
  /** Never rejects. */
  remember(repository: RepositorySettings, signedAt: number): Promise<void>
}

export interface RequestedRepository {
  /** The one that was asked for. */
  name?: string | undefined
  /** The one that the plugin's namespace belongs to: without a name no other counts. */
  holder?: string | undefined
}

/** `version`: the one that is asked for. Without it the newest for who has `installed`, as `newestFor` says. */
export interface RequestedVersion {
  version?: string | undefined
  installed?: string | undefined
}

/** Reads indexes and fetches plugins. Throws `Problem`s. */
export interface RepositoryCatalog {
  /** Index of one repository, fresh or from the cache. */
  index(repository: RepositorySettings): Promise<RepositoryIndex>
  /** Whether a repository that is not known yet can be read, and when its index was signed. */
  check(repository: RepositorySettings): Promise<{ signedAt: number | undefined }>
  statuses(repositories: readonly RepositorySettings[]): Promise<RepositoryStatus[]>
  /**
   * Offers of all repositories; one that cannot be read is left out (its status says why).
   * `installed`: the version that there is of a plugin, by its full id.
   */
  offers(
    repositories: readonly RepositorySettings[],
    installed?: (fullId: string) => string | undefined,
  ): Promise<Offer[]>
  /** The repository to install from: the named one, or the one that has the plugin. */
  choose(
    repositories: readonly RepositorySettings[],
    fullId: string,
    wish?: RequestedRepository,
  ): Promise<RepositorySettings>
  /**
   * Fetches and checks everything; nothing of the installed plugin changes. Once `signal` is aborted no file is fetched any
   * more, and it rejects with the reason of that; an index that others may wait for, too, is read to its end.
   */
  stage(
    repository: RepositorySettings,
    plugin: PluginIdentifier,
    wish?: RequestedVersion,
    signal?: AbortSignal,
  ): Promise<StagedPlugin>
  /** Fetches and checks as `stage` does, and keeps nothing. */
  preview(
    repository: RepositorySettings,
    plugin: PluginIdentifier,
    wish?: RequestedVersion,
  ): Promise<PluginPreview>
  close(): Promise<void>
}

/** An installed plugin as it is on disk. */
export interface InstalledFiles {
  manifest: Manifest
  /** Contents of every Lua file the manifest names. */
  files: Record<string, Uint8Array>
  integrity: Integrity
}

/** By what a kept version is found: by its files, or else by what its manifest calls it. */
export interface KeptFiles {
  version: string
  integrity: Integrity
}

/** The `plugins/` directory. */
export interface PluginDirectory {
  exists(plugin: PluginIdentifier): Promise<boolean>
  /** Reads and validates the manifest and reads the files. Throws `Problem` (`manifest_invalid`, …). */
  read(plugin: PluginIdentifier): Promise<InstalledFiles>
  readManifest(plugin: PluginIdentifier): Promise<Manifest>
  /** Whether the files of a version that was replaced are still there. */
  hasKept(plugin: PluginIdentifier, release: KeptFiles): Promise<boolean>
  /** The manifest of a version that was replaced; undefined: its files are not there any more. */
  readKeptManifest(plugin: PluginIdentifier, release: KeptFiles): Promise<Manifest | undefined>
  /** Whether a version that was replaced has exactly these files, and the present one has others. */
  matchesKeptVersion(plugin: PluginIdentifier, release: KeptFiles): Promise<boolean>
  /** A document that the manifest lists. Throws `doc_not_found`. */
  readDocument(plugin: PluginIdentifier, file: string): Promise<Uint8Array>
  /** Ends a swap that a full disk interrupted; nothing happens when there is none. */
  settle(plugin: PluginIdentifier): Promise<void>
  /** Puts a version that was replaced back in place, whole; the present one is kept. Throws `invalid_transition`. */
  restore(plugin: PluginIdentifier, release: KeptFiles): Promise<void>
  /** Puts these files in place as a whole, by their paths; what was there is kept. */
  place(plugin: PluginIdentifier, contents: ReadonlyMap<string, Uint8Array>): Promise<void>
  /** Puts these files where a version that was replaced is looked for. */
  keep(plugin: PluginIdentifier, contents: ReadonlyMap<string, Uint8Array>): Promise<void>
  /** All files of the present version, as they are. Throws `Problem` when they are not there. */
  contents(plugin: PluginIdentifier): Promise<Map<string, Uint8Array>>
  /** Names of the folders (`directoryName`) of plugins of which another version is kept. */
  replaced(): Promise<Set<string>>
  /** Removes the files of versions that are none of these. Never rejects. */
  prune(plugin: PluginIdentifier, releases: readonly KeptFiles[]): Promise<void>
  /** Removes the plugin's directory and its kept versions. */
  remove(plugin: PluginIdentifier): Promise<void>
  /** Throws `storage_full` where the folders that `recover` goes through cannot be read. Changes nothing. */
  requireReadable(): Promise<void>
  /** Finishes or undoes what a crash left: half-swapped directories, staging leftovers. */
  recover(): Promise<void>
}
