import type { Clock } from '../../../base/time/clock.ts'
import { createKeyedTimers } from '../../../base/time/keyed-timers.ts'
import type { FleetJournal } from '../../../fleet/journal/fleet-journal.ts'
import type { LeaseKeeper } from '../../../fleet/leases/lease-keeper.ts'
import { isInstalled } from '../../../journal/fold/evolve.ts'
import type { Manifests } from '../../../lifecycle/manifests/manifests.ts'
import type { Handover } from '../../../lifecycle/supervision/handover.ts'
import type { JournalEvent } from '../../../schema/journal/journal-event.ts'
import { describedHosts, wantedPlugins } from './wanted.ts'

export interface FollowWantedSettings {
  journal: Pick<FleetJournal, 'state' | 'subscribe'> & Partial<Pick<FleetJournal, 'ahead'>>
  clock: Pick<Clock, 'schedule'>
  manifests: Pick<Manifests, 'get'>
  handover: Pick<Handover, 'mirror' | 'removed'>
  keeper: Pick<LeaseKeeper, 'describe' | 'want'>
  /** Whether this host has the plugin now. */
  owns(plugin: string): boolean
}

export interface FollowWanted {
  /** Tells the leases once more where this host's disk refuses what they are to be about: its plugins can be moved all the same. */
  lookAhead(): void
  stop(): void
}

/** Milliseconds until files that could not be fetched are tried again; doubles with each further failure. */
const firstPause = 5_000
const longestPause = 60_000

/** After these a plugin has other files. */
const bringsFiles: ReadonlySet<JournalEvent['type']> = new Set([
  'PluginInstalled',
  'PluginUpdated',
  'PluginRolledBack',
  'PluginFilesRestored',
])

/**
 * Tells the leases what they are to be about, now and after each change in the journal, and follows with the files of
 * plugins that other hosts have.
 */
export function followWanted(settings: FollowWantedSettings): FollowWanted {
  const { journal, clock, manifests, handover, keeper, owns } = settings
  /** Plugins whose files are being fetched, and how often. */
  const fetching = new Map<string, number>()
  const retries = createKeyedTimers(clock)
  let isStopped = false

  function tellKeeper(): void {
    const state = journal.ahead ?? journal.state
    keeper.describe(describedHosts(state))
    keeper.want(wantedPlugins(state, manifests, (plugin) => owns(plugin) || !fetching.has(plugin)))
  }

  function isOfOthers(plugin: string): boolean {
    const snapshot = journal.state.plugins.get(plugin)
    return snapshot !== undefined && isInstalled(snapshot) && !owns(plugin)
  }

  /** What a plugin depends on, and so where it belongs, is known when its files are here. */
  function fetch(plugin: string, pause = firstPause): void {
    retries.cancel(plugin)
    fetching.set(plugin, (fetching.get(plugin) ?? 0) + 1)
    void handover.mirror(plugin).then((isDone) => {
      const left = (fetching.get(plugin) ?? 1) - 1
      if (left === 0) fetching.delete(plugin)
      else fetching.set(plugin, left)
      if (isStopped) return
      tellKeeper()
      if (isDone || left > 0) return
      retries.set(plugin, pause, () => {
        // Whoever has it by now sees to its files.
        if (isOfOthers(plugin)) fetch(plugin, Math.min(2 * pause, longestPause))
      })
    })
  }

  /** They could not be read or fetched when this host began, or another one has changed the plugin since. */
  for (const { context } of journal.state.plugins.values()) {
    const { id, version } = context
    if (isOfOthers(id) && manifests.get(id)?.version !== version) fetch(id)
  }
  tellKeeper()
  let isTold = true
  const stopListening = journal.subscribe((event) => {
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
  return {
    lookAhead() {
      if (journal.ahead !== undefined) tellKeeper()
    },
    stop() {
      isStopped = true
      stopListening()
      retries.cancelAll()
    },
  }
}
