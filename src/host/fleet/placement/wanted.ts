import type { Placement } from '../../../fleet/leases/placement.ts'
import { coordinatorLease } from '../../../fleet/leases/records.ts'
import type { HostDescription } from '../../../fleet/leases/state.ts'
import { type HostState, installedIn } from '../../../journal/fold/evolve.ts'
import { parseDependency } from '../../../lifecycle/manifests/dependencies.ts'
import type { Manifests } from '../../../lifecycle/manifests/manifests.ts'
import { identifierOf } from '../../../schema/names/identifier.ts'

/** What the leases are to be about, as the journal says it. Pure. */

/**
 * Every installed plugin is had by one host, which alone changes it; also while it is disabled. `isReady`: whether it is known
 * here what it depends on.
 */
export function wantedPlugins(
  state: HostState,
  manifests: Pick<Manifests, 'get'>,
  isReady: (plugin: string) => boolean,
): Map<string, Placement> {
  const installed = installedIn(state)
  const ids = installed.map(({ context }) => context.id).sort()
  const together = groupsOf(ids, manifests)
  const wanted = new Map<string, Placement>([[coordinatorLease, {}]])
  for (const { context } of installed) {
    if (!isReady(context.id)) continue
    const group = together.get(context.id)
    wanted.set(context.id, {
      ...context.placement,
      ...(group === undefined ? {} : { together: group }),
      ...(context.epoch === undefined ? {} : { after: context.epoch }),
    })
  }
  return wanted
}

/** A plugin and what it depends on share a host. The group is called after one of them that depends on none of the others. */
function groupsOf(ids: readonly string[], manifests: Pick<Manifests, 'get'>): Map<string, string> {
  const there = new Set(ids)
  const needs = new Map<string, readonly string[]>()
  const next = new Map<string, string>()
  const find = (id: string): string => {
    const other = next.get(id)
    return other === undefined ? id : find(other)
  }
  for (const id of ids) {
    const dependencies = (manifests.get(id)?.dependencies ?? [])
      .map((dependency) => parseDependency(dependency, identifierOf(id).namespace)?.fullId ?? '')
      .filter((other) => other !== id && there.has(other))
    if (dependencies.length > 0) needs.set(id, dependencies)
    for (const other of dependencies) if (find(id) !== find(other)) next.set(find(id), find(other))
  }
  const members = new Map<string, string[]>()
  for (const id of ids) members.set(find(id), [...(members.get(find(id)) ?? []), id])
  const groups = new Map<string, string>()
  for (const group of members.values()) {
    if (group.length === 1) continue
    const name = group.find((id) => !needs.has(id)) ?? group[0] ?? ''
    for (const id of group) groups.set(id, name)
  }
  return groups
}

export function describedHosts({ host }: HostState): Map<string, HostDescription> {
  return new Map(
    Object.entries(host.context.members ?? {}).map(([id, { labels, draining }]) => [
      id,
      { labels, draining },
    ]),
  )
}
