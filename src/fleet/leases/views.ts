import { type Candidate, chooseHost, fitForAll, type Placement } from './placement.ts'
import { coordinatorLease, hasEnded } from './records.ts'
import type { LeaseState } from './state.ts'

/** What the records that were seen say together. */

export interface Holder {
  host: string
  epoch: number
}

/** The host whose live session has the lease; undefined: nobody has. */
export function leaseHolder({ leases, hosts }: LeaseState, plugin: string): Holder | undefined {
  const { host = null, session = null, epoch = 0, released = false } = leases.get(plugin)?.record ?? {}
  const isHeld = host !== null && session !== null && !released && !hasEnded(session, hosts.get(host))
  return isHeld ? { host, epoch } : undefined
}

/** Hosts that seem to live, each with the number of plugins that its present session has. */
export function candidatesOf(state: LeaseState, now: number): Candidate[] {
  const { hosts, leases, timing, descriptions } = state
  const counts = new Map<string, number>()
  for (const [plugin, { record }] of leases) {
    if (plugin === coordinatorLease) continue
    const session = record?.session ?? null
    if (session !== null && record?.released !== true) counts.set(session, (counts.get(session) ?? 0) + 1)
  }
  const live: Candidate[] = []
  for (const [id, { record, at }] of hosts) {
    if (record === null || now - at >= timing.takeOverAfter) continue
    const { labels = [], draining = false } = descriptions.get(id) ?? {}
    const withoutBroker = state.withoutBroker.has(id)
    const isFull = id === state.host ? state.isFull : record.isFull === true
    live.push({ id, labels, draining, plugins: counts.get(record.session) ?? 0, withoutBroker, isFull })
  }
  return live
}

/** Plugins that share a host, by the name of their group: first the one that it is called after, then by name. */
export function groupsOf({ wanted }: LeaseState): Map<string, (readonly [string, Placement])[]> {
  const groups = new Map<string, (readonly [string, Placement])[]>()
  for (const member of wanted) {
    const { together } = member[1]
    if (together !== undefined) groups.set(together, [...(groups.get(together) ?? []), member])
  }
  const rank = ([plugin, { together }]: readonly [string, Placement]): string =>
    `${plugin === together ? 0 : 1}${plugin}`
  for (const members of groups.values()) members.sort((left, right) => (rank(left) < rank(right) ? -1 : 1))
  return groups
}

/**
 * Where plugins that share a host belong, by the name of their group: where the first of them is that a live session has. If
 * not all of them may run there, and there is a host on which they may: on that one.
 */
export function homesOf(state: LeaseState, candidates: readonly Candidate[]): Map<string, string> {
  const homes = new Map<string, string>()
  for (const [group, members] of groupsOf(state)) {
    const present = members.flatMap(([plugin]) => leaseHolder(state, plugin)?.host ?? [])
    const [first] = present
    if (first === undefined) continue
    const fit = fitForAll(members, candidates)
    const home = present.find((host) => fit.some(({ id }) => id === host)) ?? chooseHost({}, fit) ?? first
    homes.set(group, home)
  }
  return homes
}
