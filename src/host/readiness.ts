import type { Clock } from '../base/time/clock.ts'
import { every } from '../base/time/every.ts'
import type { Bus } from '../bus/bus.ts'
import type { Journal } from '../journal/journal.ts'
import type { RunningLifecycle } from '../lifecycle/create-lifecycle.ts'
import type { SnapshotWriter } from '../journal/snapshot/snapshot-writer.ts'
import type { Health } from '../schema/api/system.ts'

/** Whether the host serves, and why not. */
export interface Readiness {
  /** Until `settle` is called with the same text. */
  hinder(reason: string): void
  settle(reason: string): void
  now(): Health
}

const withoutSession =
  "the fleet's store has taken no sign of life of this host (it cannot be reached, or takes nothing): it runs no plugin, " +
  'and is not at the broker, until it does'

export function createReadiness(
  bus: Pick<Bus, 'connected' | 'fault' | 'memoryOnly'>,
  journal: Pick<Journal, 'stall' | 'refused'>,
  snapshots: Pick<SnapshotWriter, 'failure'>,
  lifecycle: Pick<RunningLifecycle, 'storesFailure'>,
  /** In a fleet, whether its store knows this host to live. */
  isLive: () => boolean = () => true,
): Readiness {
  const hindrances = new Set<string>()
  return {
    hinder: (reason) => void hindrances.add(reason),
    settle: (reason) => void hindrances.delete(reason),
    now() {
      const reasons = [...hindrances]
      // Without a session a host is not to be at the broker, with which all may be well.
      if (!isLive()) reasons.push(withoutSession)
      else if (!bus.connected)
        reasons.push(`the broker is not connected${bus.fault === undefined ? '' : `: ${bus.fault}`}`)
      const { memoryOnly } = bus
      if (memoryOnly?.lasting === false)
        reasons.push(`what the broker keeps cannot be written: ${memoryOnly.reason}`)
      const { stall, refused } = journal
      if (stall !== undefined) reasons.push(stall)
      // A start that waits for the disk has said so.
      if (refused?.reason !== undefined && !hindrances.has(refused.reason))
        reasons.push(`the journal cannot be written: ${refused.reason}`)
      const { failure } = snapshots
      if (failure !== undefined) reasons.push(`.host.json cannot be written: ${failure}`)
      if (lifecycle.storesFailure !== undefined) reasons.push(lifecycle.storesFailure)
      const ready = reasons.length === 0
      // A host that is what it can be on this platform is in order.
      if (memoryOnly?.lasting === true)
        reasons.push(`what the broker keeps is lost at a restart: ${memoryOnly.reason}`)
      return { ready, reasons }
    },
  }
}

/** Milliseconds between two looks at the data directory. */
export const directoryLookEvery = 4_000
const directoryMoved = 'the data directory was moved, replaced or unmounted; put it back'

/** Says so also while nothing is written there, which would find out. Answers what ends it. */
export function watchDirectory(
  isMoved: () => Promise<boolean>,
  { hinder, settle }: Pick<Readiness, 'hinder' | 'settle'>,
  clock: Clock,
): () => void {
  let isLooking = false

  async function look(): Promise<void> {
    // A disk may take its time for an answer.
    if (isLooking) return
    isLooking = true
    if (await isMoved()) hinder(directoryMoved)
    else settle(directoryMoved)
    isLooking = false
  }

  const looking = every(clock, directoryLookEvery, () => void look())
  return () => looking.cancel()
}
