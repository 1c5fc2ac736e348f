import { isEligible } from '../../../fleet/leases/placement.ts'
import type { LeaseState } from '../../../fleet/leases/state.ts'
import type { PluginContext } from '../../../schema/journal/stored-state.ts'
import { placementText } from '../../../schema/plugin/fleet-host.ts'

/** Why a plugin has come to this host, as the history tells it. `before`: the host that had it last. Pure. */
export function moveReason(
  state: LeaseState,
  plugin: string,
  { host: before, placement = {} }: Partial<Pick<PluginContext, 'host' | 'placement'>>,
): string {
  if (before === undefined) return 'it was installed'
  if (before === state.host) return 'its host is back'
  if ((state.hosts.get(before)?.record ?? null) === null) return `${before} is gone`
  const { labels = [], draining = false } = state.descriptions.get(before) ?? {}
  if (draining) return `${before} is being drained`
  if (!isEligible(placement, { id: before, labels, draining: false }))
    return `it is placed on ${placementText(placement)}`
  if (state.wanted.get(plugin)?.together !== undefined)
    return 'it shares a host with what it depends on, or with what depends on it'
  return `${before} had more plugins`
}
