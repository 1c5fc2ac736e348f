import type { Clock } from '../../../base/time/clock.ts'
import { waitUntil, waitAtMost } from '../../../base/time/wait.ts'
import type { LeaseKeeper } from '../../../fleet/leases/lease-keeper.ts'
import { candidatesOf } from '../../../fleet/leases/views.ts'
import { holderOf, hostsFor } from '../placement/holders.ts'
import type { Leavers } from './leavers.ts'
import type { KnownWhereabouts } from '../placement/whereabouts.ts'

/**
 * What a host says before its session ends in order: of plugins that it had and that no other host may run. The last host
 * says it of all plugins. Nobody else would, and they would be shown as running for as long as nobody is there.
 */
export interface LastWord {
  /** Resolves when it is said, or takes too long. Never rejects. */
  say(plugins: readonly string[], abandon: (plugins: readonly string[]) => Promise<void>): Promise<void>
  /** Whether this host speaks for a plugin that nobody has any more, because it is about to say its last word. */
  isAbout(plugin: string): boolean
}

/** Milliseconds for hosts that end together with this one to be gone, and for the broker. Together less than a session has left. */
const othersPatience = 1_500
const brokerPatience = 1_500

export function createLastWord(parts: {
  keeper: Pick<LeaseKeeper, 'state' | 'maySpeak'>
  whereabouts: Pick<KnownWhereabouts, 'end'>
  leavers: Pick<Leavers, 'has' | 'before'>
  clock: Clock
  elapsed: () => number
  /** Called when sessions or leases have changed. Returns the way to stop. */
  onChange: (listener: () => void) => () => void
}): LastWord {
  const { keeper, whereabouts, leavers, clock, elapsed, onChange } = parts
  const abandoned = new Set<string>()

  const isLeaving = (host: string): boolean => {
    const session = keeper.state.hosts.get(host)?.record?.session
    return session !== undefined && leavers.has(host, session)
  }

  /** They may not know that this host ends, too, and leave their plugins to it. */
  const areEarlierOnesGone = (): boolean =>
    [...leavers.before()].every(
      ([host, session]) => keeper.state.hosts.get(host)?.record?.session !== session,
    )

  return {
    async say(plugins, abandon) {
      await waitUntil(clock, othersPatience, areEarlierOnesGone, onChange)
      const { state } = keeper
      const now = elapsed()
      const isLast = candidatesOf(state, now).every(({ id }) => id === state.host || isLeaving(id))
      const left = plugins.filter((plugin) => {
        const holder = holderOf(state, plugin)
        // What nobody has is told by one of those who stay.
        if (holder === undefined ? !isLast : holder.host !== state.host) return false
        return hostsFor(state, plugin, now, state.host).every(isLeaving)
      })
      if (left.length === 0 || !keeper.maySpeak()) return
      for (const plugin of left) abandoned.add(plugin)
      whereabouts.end(left, isLast)
      // Without the broker there is nobody to tell.
      await waitAtMost(clock, brokerPatience, abandon(left))
    },
    isAbout: (plugin) => abandoned.has(plugin),
  }
}
