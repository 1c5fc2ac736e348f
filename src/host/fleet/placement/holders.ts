import { isEligible } from '../../../fleet/leases/placement.ts'
import { hasEnded } from '../../../fleet/leases/records.ts'
import type { LeaseState } from '../../../fleet/leases/state.ts'
import { candidatesOf } from '../../../fleet/leases/views.ts'

/** Who has what, by what is known of the leases. Pure. */

export interface Holder {
  host: string
  epoch: number
}

/** The host whose live session has the lease; undefined: nobody has. */
export function holderOf({ leases, hosts, held, host: own }: LeaseState, plugin: string): Holder | undefined {
  const { host = null, session = null, epoch = 0 } = leases.get(plugin)?.record ?? {}
  if (host === null || session === null || hasEnded(session, hosts.get(host))) return undefined
  // This host knows of its own session before the store says so.
  if (host === own && !held.has(plugin)) return undefined
  return { host, epoch }
}

/** Plugins of each live host; `counts`: whether a lease is one of a plugin. */
export function pluginCounts(state: LeaseState, counts: (plugin: string) => boolean): Map<string, number> {
  const found = new Map<string, number>()
  for (const plugin of state.leases.keys()) {
    const holder = counts(plugin) ? holderOf(state, plugin) : undefined
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
