import { isDeepStrictEqual } from 'node:util'
import { Problem } from '../../../base/problem.ts'
import { isEligible } from '../../../fleet/leases/placement.ts'
import type { LiveState } from '../../../journal/fold/evolve.ts'
import type { Fleet } from '../../../lifecycle/facade.ts'
import { requiredPlugins } from '../../../lifecycle/manifests/dependencies.ts'
import { type Placement, placementText } from '../../../schema/plugin/fleet-host.ts'
import type { Plugin } from '../../../schema/plugin/plugin.ts'

type Placed = Pick<Plugin, 'id' | 'dependencies' | 'placement'>

export interface PlacingSettings {
  /** Installed plugins, and the labels of hosts. */
  plugins: () => readonly Placed[]
  labels: () => ReadonlyMap<string, readonly string[]>
  /** Whether no host has the plugin. */
  hasNone: (id: string) => boolean
  /** Whether this host has it. */
  isHere: (id: string) => boolean
  /** Writes the placement down: here, or at the host that has the plugin. */
  place: Fleet['place']
  placeThere: Fleet['place']
}

/** Replaces where a plugin may run. Throws `no_other_host` when it could not be together with what it needs, or what needs it. */
export function createFleetPlacing(settings: PlacingSettings): Fleet['place'] {
  const { plugins, labels, hasNone, isHere, place, placeThere } = settings
  return async (id, placement, by) => {
    const conflict = splitBy(plugins(), id, placement, labels())
    if (conflict !== undefined) throw new Problem('no_other_host', conflict)
    if (hasNone(id)) return place(id, placement, by)
    try {
      return await placeThere(id, placement, by)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      // Its host has gone meanwhile, and no other may run it as it is placed: just that is what is to be changed.
      const isGone = error.code === 'no_other_host' && hasNone(id)
      // The disk of its host is full, which hears of it all the same.
      if (isGone || (error.code === 'storage_full' && !isHere(id))) return place(id, placement, by)
      throw error
    }
  }
}

/** Labels of all hosts that were ever in the fleet. */
export function labelsOf({ host }: Pick<LiveState, 'host'>): Map<string, readonly string[]> {
  return new Map(Object.entries(host.context.members ?? {}).map(([id, { labels }]) => [id, labels]))
}

/** What stands against a placement, as a sentence that says what to do; undefined: nothing does. Pure. */
function splitBy(
  plugins: readonly Placed[],
  id: string,
  placement: Placement,
  labels: ReadonlyMap<string, readonly string[]>,
): string | undefined {
  const present = plugins.find((plugin) => plugin.id === id)
  if (present === undefined || isDeepStrictEqual(present.placement, placement)) return undefined
  const others = groupOf(plugins, id).filter((other) => placementText(other.placement) !== undefined)
  const hostsOf = (of: Placement): Set<string> =>
    new Set(
      [...labels].flatMap(([host, has]) =>
        isEligible(of, { id: host, labels: has, draining: false }) ? host : [],
      ),
    )
  // Of a host that has not been there yet nobody knows what it has, and a placement for which there is none waits for one.
  const own = hostsOf(placement)
  const known = others.map((other) => ({ other, hosts: hostsOf(other.placement) }))
  const parted = known.filter(({ other, hosts }) => {
    const { host } = other.placement
    if (placement.host !== undefined && host !== undefined) return placement.host !== host
    return own.size > 0 && hosts.size > 0 && common([own, hosts]).size === 0
  })
  const all = known.map(({ hosts }) => hosts).filter(({ size }) => size > 0)
  const isOnlyAllTogether =
    parted.length === 0 && own.size > 0 && common(all).size > 0 && common([...all, own]).size === 0
  const against = isOnlyAllTogether ? known : parted
  if (against.length === 0) return undefined
  const names = against.map(({ other }) => other.id).join(' and ')
  const where = against
    .map(({ other }) => `${other.id} is placed on ${placementText(other.placement)}`)
    .join(' and ')
  return (
    `${id} cannot be placed on ${placementText(placement)}: it and ${names} run on the same host, because one needs the other, and ` +
    `${where}; no host is all of that. Take the placement of ${names} away first, or give all of them one that one host is like. ` +
    'Nothing was changed.'
  )
}

function common(sets: readonly ReadonlySet<string>[]): Set<string> {
  const [first = new Set<string>(), ...rest] = sets
  return new Set([...first].filter((host) => rest.every((set) => set.has(host))))
}

/** All that have to share a host with a plugin: what it needs, what needs it, and so on. */
function groupOf(plugins: readonly Placed[], id: string): Placed[] {
  const needs = new Map(plugins.map((plugin) => [plugin.id, new Set(requiredPlugins(plugin))]))
  const found = new Set([id])
  for (const one of found)
    for (const { id: other } of plugins)
      if (needs.get(one)?.has(other) === true || needs.get(other)?.has(one) === true) found.add(other)
  return plugins.filter((plugin) => plugin.id !== id && found.has(plugin.id))
}
