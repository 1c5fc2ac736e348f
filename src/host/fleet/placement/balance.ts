import { coordinatorLease } from '../../../fleet/leases/records.ts'
import type { LeaseState } from '../../../fleet/leases/state.ts'
import { candidatesOf } from '../../../fleet/leases/views.ts'
import type { HostState } from '../../../journal/fold/evolve.ts'
import { hostsFor, pluginCounts } from './holders.ts'

/** Plugins by which two hosts may differ. */
const toleratedDifference = 2

/**
 * The plugin that this host gives away for balance: it has most, and another may take it that has fewer by more than is
 * tolerated. Hosts without a broker, or with a full disk, take no part. Pure.
 */
export function surplusOf(state: LeaseState, now: number): string | undefined {
  const { host } = state
  const candidates = candidatesOf(state, now)
  const apart = new Set(candidates.filter((one) => one.withoutBroker || one.isFull).map(({ id }) => id))
  if (apart.has(host)) return undefined
  const counts = pluginCounts(state)
  for (const other of apart) counts.delete(other)
  const own = counts.get(host) ?? 0
  const isFullest = [...counts].every(([other, count]) => count < own || (count === own && host <= other))
  if (!isFullest) return undefined
  for (const [plugin, { phase, isLeaving }] of state.held) {
    // One at a time.
    if (isLeaving) return undefined
    // Those that share a host go together or not at all.
    if (phase !== 'running' || plugin === coordinatorLease || state.wanted.get(plugin)?.together) continue
    const others = hostsFor(state, plugin, now, host).filter((other) => !apart.has(other))
    const fewest = Math.min(...others.map((other) => counts.get(other) ?? 0))
    if (own - fewest > toleratedDifference) return plugin
  }
  return undefined
}

/**
 * Plugins that this host took before it knew that its disk is full, and that another may have: that they are here cannot be written
 * down, so they do not run. Pure.
 */
export function untakenOf(state: LeaseState, { plugins }: Pick<HostState, 'plugins'>, now: number): string[] {
  const { host, held, wanted, isFull } = state
  if (!isFull) return []
  const fit = new Set(
    candidatesOf(state, now).flatMap((one) => (one.withoutBroker || one.isFull ? [] : one.id)),
  )
  return [...held.keys()].filter((plugin) => {
    const recorded = plugins.get(plugin)?.context
    const isHere = recorded?.host === host && recorded.epoch === held.get(plugin)?.epoch
    // Those that share a host would come back to it.
    if (recorded === undefined || isHere || wanted.get(plugin)?.together !== undefined) return false
    return hostsFor(state, plugin, now, host).some((other) => fit.has(other))
  })
}
