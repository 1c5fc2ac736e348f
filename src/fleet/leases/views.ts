import type { Candidate } from './placement.ts'
import type { LeaseState } from './state.ts'

/** What the records that were seen say together. */

/** Hosts that seem to live, each with the number of plugins that its present session has. */
export function candidatesOf(state: LeaseState, now: number): Candidate[] {
  const { hosts, leases, timing, descriptions } = state
  const counts = new Map<string, number>()
  for (const { record } of leases.values()) {
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
