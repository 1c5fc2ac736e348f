import { setMaxListeners } from 'node:events'
import type { Clock } from '../base/time/clock.ts'
import { runCooperatively, type Steps } from '../base/time/cooperative-steps.ts'
import type { FileSystem } from '../base/files/file-system.ts'
import type { Logger } from '../base/log/log.ts'
import { messageOf, shuttingDown } from '../base/problem.ts'
import type { PluginIdentifier } from '../schema/names/identifier.ts'
import type { Manifest } from '../schema/manifest/manifest.ts'
import { areListedPermissions, type RepositoryEntry } from '../schema/manifest/repository-index.ts'
import { chooseEntry, newestFor, notOfferedProblem } from './index/choose-entry.ts'
import { chooseByName, chooseByPlugin } from './index/choose-repository.ts'
import { createFolderReads } from './sources/folder-reads.ts'
import type { Network } from './sources/http-get.ts'
import { createIndexCache, type OpenRepository, unreachableProblem } from './index/index-cache.ts'
import { defaultRepositoryLimits, type RepositoryLimits } from './limits.ts'
import { integrityOf } from './directories/plugin-directory.ts'
import { pluginPlaces, type Swap, swapIn } from './directories/plugin-swap.ts'
import type {
  Offer,
  RepositoryCatalog,
  RepositorySettings,
  RepositoryStatus,
  SigningTimes,
  RequestedVersion,
} from './repository.ts'
import { createSigningTimes, dateOf } from './index/signed-index.ts'
import { requireHost } from './require-host.ts'
import { withFetchDeadline } from './sources/fetch-deadline.ts'
import { type FetchedPlugin, fetchPlugin, writeStaged } from './directories/staging.ts'
import { isNewer, isSameVersion } from './versions.ts'

export interface RepositoryCatalogOptions {
  /** The data directory; relative paths of repositories start from it. */
  directory: string
  /** Relative paths that lead nowhere from the data directory start from here: the starter plugins. */
  programDirectory?: string
  files?: FileSystem
  clock: Clock
  logger: Logger
  hostVersion: string
  limits?: Partial<RepositoryLimits>
  /** Default: forgotten with the catalog. */
  times?: SigningTimes
  /** Default: the system's. */
  network?: Network
}

export function createRepositoryCatalog(options: RepositoryCatalogOptions): RepositoryCatalog {
  const { directory, programDirectory, clock, logger, hostVersion } = options
  const limits = { ...defaultRepositoryLimits, ...options.limits }
  const places = pluginPlaces(directory, options.files)
  const closing = new AbortController()
  // One listener for each request under way; Node takes more than ten for a leak.
  setMaxListeners(0, closing.signal)
  const cache = createIndexCache({
    bases: programDirectory === undefined ? [directory] : [directory, programDirectory],
    readFolder: createFolderReads({ clock, time: limits.requestTime }),
    clock,
    logger,
    limits,
    hostVersion,
    network: options.network,
    signal: closing.signal,
    times: options.times ?? createSigningTimes(),
  })

  async function open(repository: RepositorySettings, wanted?: { fresh: boolean }): Promise<OpenRepository> {
    closing.signal.throwIfAborted()
    return cache.open(repository, wanted)
  }

  async function statusOf(repository: RepositorySettings): Promise<RepositoryStatus> {
    const { name, url, publicKey = null } = repository
    const unread = { name, url, publicKey, signed: false, signedAt: null, namespace: null, plugins: 0 }
    try {
      const { index, byPlugin, signature } = await open(repository)
      const { signedAt } = signature ?? {}
      return {
        ...unread,
        signed: signature !== undefined,
        signedAt: signedAt === undefined ? null : dateOf(signedAt),
        namespace: index.namespace,
        plugins: byPlugin.size,
        error: null,
      }
    } catch (error) {
      return { ...unread, error: messageOf(error) }
    }
  }

  /**
   * Everything of one version, in memory and checked. `host`: refuse a version that needs a newer host; `signal`: as in
   * `RepositoryCatalog.stage`.
   */
  async function fetchVersion(
    repository: RepositorySettings,
    plugin: PluginIdentifier,
    wish: RequestedVersion,
    { host, signal: wanted }: { host: boolean; signal?: AbortSignal | undefined },
  ): Promise<FetchedPlugin & { entry: RepositoryEntry }> {
    const opened = await open(repository, { fresh: true })
    wanted?.throwIfAborted()
    const { source, signature, byPlugin } = opened
    const entry = chooseEntry(opened, repository, plugin, wish)
    const { version = entry.version } = wish
    const isListed = isSameVersion(version, entry.version)
    if (host && isListed) requireHost(plugin, entry.minHostVersion, hostVersion)
    const accept = (manifest: Manifest): void => {
      if (!isListed && !isSameVersion(version, manifest.version)) {
        const listed = (byPlugin.get(plugin.fullId) ?? []).map((each) => each.version)
        throw notOfferedProblem(repository, plugin, version, listed.length > 1 ? listed : [manifest.version])
      }
      if (!host) return
      requireHost(plugin, entry.minHostVersion, hostVersion)
      requireHost(plugin, manifest.minHostVersion, hostVersion)
    }
    const warn = (message: string, file: string): void =>
      logger.warn(message, { plugin: plugin.fullId, repository: repository.name, file })
    const time = {
      clock,
      time: limits.stageTime,
      outer: wanted === undefined ? [closing.signal] : [closing.signal, wanted],
    }
    const fetched = await withFetchDeadline(time, 'the plugin', (signal) =>
      fetchPlugin({ source, entry, signed: signature !== undefined, plugin, limits, signal, accept, warn }),
    ).catch((error: unknown) => {
      throw unreachableProblem(repository, source.place, error)
    })
    closing.signal.throwIfAborted()
    return { ...fetched, entry }
  }

  async function stage(
    repository: RepositorySettings,
    plugin: PluginIdentifier,
    wish: RequestedVersion = {},
    signal?: AbortSignal,
  ): ReturnType<RepositoryCatalog['stage']> {
    const { manifest, contents, entry } = await fetchVersion(repository, plugin, wish, { host: true, signal })
    const staged = await writeStaged(places, plugin, contents)
    let swap: Swap | undefined
    return {
      manifest,
      contents,
      integrity: integrityOf(contents),
      repository: repository.name,
      indexVersion: entry.version,
      async swapIn() {
        swap = await swapIn(places, plugin, staged)
      },
      async undo() {
        await swap?.undo()
      },
      async discard() {
        try {
          await places.files.rm(staged, { recursive: true, force: true })
        } catch (error) {
          // It has no name in the place of a plugin, and goes at the next start.
          logger.warn('What was fetched could not be removed', { path: staged, error })
        }
      },
    }
  }

  return {
    async index(repository) {
      const { index } = await open(repository)
      return index
    },

    async check(repository) {
      const { signature } = await open(repository, { fresh: true })
      return { signedAt: signature?.signedAt }
    },

    statuses: (repositories) => Promise.all(repositories.map(statusOf)),

    async offers(repositories, installed = () => undefined) {
      const read = repositories.map(async (repository) => {
        try {
          return await runCooperatively(offersOf(repository, await open(repository), installed))
        } catch (error) {
          logger.debug('A repository is left out of the catalog', { repository: repository.name, error })
          return []
        }
      })
      return (await Promise.all(read)).flat()
    },

    async choose(repositories, fullId, { name, holder } = {}) {
      closing.signal.throwIfAborted()
      if (name !== undefined) return chooseByName(repositories, { name, holder }, open)
      try {
        return await chooseByPlugin(
          repositories,
          { fullId, holder },
          (repository) => open(repository, { fresh: true }),
          (repository) => cache.lastNamespace(repository),
        )
      } catch (error) {
        // It is not the repositories' fault then.
        closing.signal.throwIfAborted()
        throw error
      }
    },

    stage,

    async preview(repository, plugin, wish = {}) {
      const { manifest, contents, entry } = await fetchVersion(repository, plugin, wish, { host: false })
      return {
        manifest,
        integrity: integrityOf(contents),
        repository: repository.name,
        minHostVersion: laterOf(entry.minHostVersion, manifest.minHostVersion),
      }
    },

    async close() {
      closing.abort(shuttingDown())
    },
  }
}

function laterOf(left: string | undefined, right: string | undefined): string | null {
  if (left === undefined || right === undefined) return left ?? right ?? null
  return isNewer(left, right) ? left : right
}

/** Of each plugin that it offers. */
function* offersOf(
  repository: RepositorySettings,
  { byPlugin }: OpenRepository,
  installed: (fullId: string) => string | undefined,
): Steps<Offer[]> {
  const offers: Offer[] = []
  for (const [fullId, entries] of byPlugin) {
    yield
    const entry = newestFor(entries, installed(fullId))
    if (entry !== undefined) offers.push(offerOf(fullId, entry, repository))
  }
  return offers
}

function offerOf(fullId: string, entry: RepositoryEntry, { name }: RepositorySettings): Offer {
  const { permissions } = entry
  return {
    fullId,
    name: entry.name,
    version: entry.version,
    description: entry.description ?? null,
    author: entry.author ?? null,
    tags: entry.tags ?? [],
    minHostVersion: entry.minHostVersion ?? null,
    permissions: areListedPermissions(permissions) ? permissions : null,
    repository: name,
  }
}
