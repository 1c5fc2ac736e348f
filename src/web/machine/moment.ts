import type { JournalEvent, PluginStateAt } from '../base/types.ts'
import type { LastTransition } from './chart.tsx'

/** What the journal says about a moment. Pure. */

/** How many events the sequence shows around a moment. */
export const sequenceLength = 80

export function hostState(events: readonly JournalEvent[]): string | undefined {
  return events.findLast(({ type }) => type.startsWith('Host'))?.state
}

export function lastTransition(until: readonly JournalEvent[], latest: JournalEvent): LastTransition {
  const before = until.findLast((event) => event.seq < latest.seq && event.plugin === latest.plugin)
  return {
    seq: latest.seq,
    event: latest.type,
    before: before?.state ?? (latest.revision === 1 ? 'notInstalled' : undefined),
    after: latest.state,
  }
}

/** Whether nothing has happened from one moment to the other, whichever is later. */
export function isQuiet(events: readonly JournalEvent[], one: number, other: number): boolean {
  const [from, to] = [Math.min(one, other), Math.max(one, other)]
  return !events.some(({ seq }) => seq > from && seq <= to)
}

export function countsOf(states: readonly PluginStateAt[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { state } of states) counts.set(state, (counts.get(state) ?? 0) + 1)
  return counts
}

export function windowAround(events: readonly JournalEvent[], seq: number): readonly JournalEvent[] {
  const index = events.findLastIndex((event) => event.seq <= seq)
  const end = Math.min(events.length, Math.max(index + sequenceLength / 2, sequenceLength))
  return events.slice(Math.max(0, end - sequenceLength), end)
}
