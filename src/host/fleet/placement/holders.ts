import { isEligible } from '../../../fleet/leases/placement.ts'
import { coordinatorLease } from '../../../fleet/leases/records.ts'
import type { LeaseState } from '../../../fleet/leases/state.ts'
import { candidatesOf, type Holder, leaseHolder } from '../../../fleet/leases/views.ts'

/** Who has what, by what is known of the leases. Pure. */

/** The host whose live session has the lease; undefined: nobody has. */
export function holderOf(state: LeaseState, plugin: string): Holder | undefined {
  const holder = leaseHolder(state, plugin)
  // This host knows of its own session before the store says so.
  return holder?.host === state.host && !state.held.has(plugin) ? undefined : holder
}

/**
 * The host that a plugin is to leave, and cannot, as it has no broker, which has to answer before. Nobody runs the plugin meanwhile.
 * Undefined: there is none.
 */
export function strandedOn(state: LeaseState, plugin: string, now: number): string | undefined {
  const host = holderOf(state, plugin)?.host
  if (host === undefined || !state.withoutBroker.has(host)) return undefined
  const hosts = hostsFor(state, plugin, now)
  return hosts.length > 0 && !hosts.includes(host) ? host : undefined
}

/** Plugins of each live host. */
export function pluginCounts(state: LeaseState): Map<string, number> {
  const found = new Map<string, number>()
  for (const plugin of state.leases.keys()) {
    const holder = plugin === coordinatorLease ? undefined : holderOf(state, plugin)
    if (holder !== undefined) found.set(holder.host, (found.get(holder.host) ?? 0) + 1)
  }
  return found
}

/** Live hosts, besides this one if it is left out, that a plugin may run on now. */
export function hostsFor(state: LeaseState, plugin: string, now: number, without?: string): string[] {
  const placement = state.wanted.get(plugin) ?? {}
  return candidatesOf(state, now)
    .filter((candidate) => candidate.id !== without && isEligible(placement, candidate))
    .map(({ id }) => id)
}
