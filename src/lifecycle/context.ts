import type { Clock } from '../base/time/clock.ts'
import type { Logger } from '../base/log/log.ts'
import type { KeyedMutex } from '../base/mutex.ts'
import { installedIn, pluginIn, type PluginSnapshot } from '../journal/fold/evolve.ts'
import type { Journal } from '../journal/journal.ts'
import type {
  InstalledFiles,
  PluginDirectory,
  RepositoryCatalog,
  RepositorySettings,
} from '../repository/repository.ts'
import type { PluginError } from '../schema/plugin/plugin.ts'
import type { DependentPlugin } from './manifests/dependencies.ts'
import type { KeyValueStores } from '../schema/files/key-value-stores.ts'
import type { FetchQueue } from './running/fetch-queue.ts'
import type { LoadCancellation } from './running/load-cancellation.ts'
import type { Ownership, SharedFiles } from './ownership.ts'
import type { Manifests } from './manifests/manifests.ts'
import type { Namespaces } from './trust/namespaces.ts'
import type { HostEnvironment } from './permissions/plugin-environment.ts'
import type { PluginEffects } from './running/plugin-effects.ts'
import type { PendingPurges } from './stores/pending-purges.ts'
import type { RetainedTopics } from './stores/retained-topics.ts'

/** What the parts of the lifecycle share. */
export interface LifecycleContext {
  journal: Journal
  effects: PluginEffects
  directory: PluginDirectory
  repositories: RepositoryCatalog
  /** What is known of the installed plugins; the lifecycle fills it. */
  manifests: Manifests
  /**
   * Plugins whose files this start has found to be those of the journal, with those files where they are loaded next:
   * nobody reads them again for that.
   */
  readAtStart: Map<string, InstalledFiles | undefined>
  /** Plugins whose files may not be those of the journal, as the disk has refused to put them in place. */
  unverifiedFiles: Set<string>
  stores: KeyValueStores
  retained: RetainedTopics
  purges: PendingPurges
  ownership: Ownership
  /** Absent: this host works by itself. */
  sharedFiles: SharedFiles | undefined
  /** One command a plugin at a time. */
  mutex: KeyedMutex
  loads: LoadCancellation
  fetches: FetchQueue
  clock: Clock
  logger: Logger
  hostVersion: string
  /** What plugins may read of the host's environment. */
  environment: HostEnvironment
  namespaces: Namespaces
}

/**
 * Whether plugins are only changed now, and not loaded. In a fleet that is a drain of one host, and what its journal says is
 * of the host that has brought it.
 */
export function isSafeMode({ journal, sharedFiles }: LifecycleContext): boolean {
  return sharedFiles === undefined && journal.live.host.context.safeMode !== null
}

export function snapshotOfPlugin({ journal }: LifecycleContext, id: string): PluginSnapshot {
  return pluginIn(journal.live, id)
}

/** What the index called the version that is installed: with this, what an index offers is compared. */
export function installedVersion(context: LifecycleContext, id: string): string | undefined {
  const known = context.journal.live.plugins.get(id)?.context
  return known?.indexVersion ?? known?.version ?? undefined
}

/** Installed plugins with what they need, by what is known of their manifests. */
export function installedPlugins({ journal, manifests }: LifecycleContext): DependentPlugin[] {
  return installedIn(journal.state).map(({ context: { id, version } }) => {
    const manifest = manifests.get(id)
    return { id, version: manifest?.version ?? version ?? '0.0.0', dependencies: manifest?.dependencies }
  })
}

export function configuredRepositories({ journal }: LifecycleContext): RepositorySettings[] {
  return journal.live.host.context.repositories
}

export function pluginError({ clock }: LifecycleContext, code: string, message: string): PluginError {
  return { code, message, at: new Date(clock.now()).toISOString() }
}
