import type { Candidate } from './placement.ts'
import { coordinatorLease, hasEnded } from './records.ts'
import type { LeaseState } from './state.ts'

/** What the records that were seen say together. */

/** Hosts that seem to live, each with the number of plugins that its present session has. */
export function candidatesOf(state: LeaseState, now: number): Candidate[] {
  const { hosts, leases, timing, descriptions } = state
  const counts = new Map<string, number>()
  for (const [plugin, { record }] of leases) {
    if (plugin === coordinatorLease) continue
    const session = record?.session ?? null
    if (session !== null) counts.set(session, (counts.get(session) ?? 0) + 1)
  }
  const live: Candidate[] = []
  for (const [id, { record, at }] of hosts) {
    if (record === null || now - at >= timing.takeOverAfter) continue
    const { labels = [], draining = false } = descriptions.get(id) ?? {}
    live.push({ id, labels, draining, plugins: counts.get(record.session) ?? 0 })
  }
  return live
}

/** Where plugins that share a host are, by the name of their group: with the one it is called after, or else the first that a live session has. */
export function homesOf({ wanted, leases, hosts }: LeaseState): Map<string, string> {
  const homes = new Map<string, string>()
  const members = [...wanted].filter(([, { together }]) => together !== undefined)
  const rank = ([plugin, { together }]: (typeof members)[number]): string =>
    `${plugin === together ? 0 : 1}${plugin}`
  for (const [plugin, { together = '' }] of members.sort((left, right) =>
    rank(left) < rank(right) ? -1 : 1,
  )) {
    const { host = null, session = null } = leases.get(plugin)?.record ?? {}
    if (host === null || session === null || homes.has(together)) continue
    if (!hasEnded(session, hosts.get(host))) homes.set(together, host)
  }
  return homes
}
