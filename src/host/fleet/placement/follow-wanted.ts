import type { FleetJournal } from '../../../fleet/journal/fleet-journal.ts'
import type { LeaseKeeper } from '../../../fleet/leases/lease-keeper.ts'
import type { Manifests } from '../../../lifecycle/manifests/manifests.ts'
import type { Handover } from '../../../lifecycle/supervision/handover.ts'
import type { JournalEvent } from '../../../schema/journal/journal-event.ts'
import { describedHosts, wantedPlugins } from './wanted.ts'

export interface FollowWantedSettings {
  journal: FleetJournal
  manifests: Pick<Manifests, 'get'>
  handover: Pick<Handover, 'mirror' | 'removed'>
  keeper: Pick<LeaseKeeper, 'describe' | 'want'>
  /** Whether this host has the plugin now. */
  owns(plugin: string): boolean
}

/** After these a plugin has other files. */
const bringsFiles: ReadonlySet<JournalEvent['type']> = new Set([
  'PluginInstalled',
  'PluginUpdated',
  'PluginRolledBack',
  'PluginFilesRestored',
])

/**
 * Tells the leases what they are to be about, now and after each change in the journal, and follows with the files of
 * plugins that other hosts have. Returns the way to stop.
 */
export function followWanted(settings: FollowWantedSettings): () => void {
  const { journal, manifests, handover, keeper, owns } = settings
  /** Plugins whose files are being fetched, and how often. */
  const fetching = new Map<string, number>()

  function tellKeeper(): void {
    keeper.describe(describedHosts(journal.state))
    keeper.want(wantedPlugins(journal.state, manifests, (plugin) => owns(plugin) || !fetching.has(plugin)))
  }

  /** What a plugin depends on, and so where it belongs, is known when its files are here. */
  function fetch(plugin: string): void {
    fetching.set(plugin, (fetching.get(plugin) ?? 0) + 1)
    void handover.mirror(plugin).then(() => {
      const left = (fetching.get(plugin) ?? 1) - 1
      if (left === 0) fetching.delete(plugin)
      else fetching.set(plugin, left)
      tellKeeper()
    })
  }

  tellKeeper()
  let isTold = true
  return journal.subscribe((event) => {
    const { plugin, type } = event
    // One that was uninstalled a moment ago may still be this host's, and has been installed anew by another.
    const isOthers = type === 'PluginInstalled' || (plugin !== null && !owns(plugin))
    if (plugin !== null && bringsFiles.has(type) && isOthers) fetch(plugin)
    if (type === 'PluginUninstalled' && !owns(event.plugin))
      void handover.removed(event.plugin, event.data.purged)
    if (!isTold) return
    isTold = false
    // What is written down together is told once.
    queueMicrotask(() => {
      isTold = true
      tellKeeper()
    })
  })
}
