import type { Clock } from '../base/time/clock.ts'
import { every } from '../base/time/every.ts'
import type { Bus } from '../bus/bus.ts'
import type { Journal } from '../journal/journal.ts'
import type { RunningLifecycle } from '../lifecycle/create-lifecycle.ts'
import type { SnapshotWriter } from '../journal/snapshot/snapshot-writer.ts'
import type { Health } from '../schema/api/system.ts'

/** Whether the host serves, and why not. */
export interface Readiness {
  /** The host counts as not ready, for this reason, until `removeReason` is called with the same text. */
  addReason(reason: string): void
  removeReason(reason: string): void
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
  const reasonsAdded = new Set<string>()
  return {
    addReason: (reason) => void reasonsAdded.add(reason),
    removeReason: (reason) => void reasonsAdded.delete(reason),
    now() {
      const reasons = [...reasonsAdded]
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
      if (refused?.reason !== undefined && !reasonsAdded.has(refused.reason))
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

/** Milliseconds between two checks of the data directory. */
export const directoryCheckInterval = 4_000
const directoryMoved = 'the data directory was moved, replaced or unmounted; put it back'

/** Has the host count as not ready while its data directory is moved, also when nothing is written there. Answers what ends it. */
export function watchDirectory(
  isMoved: () => Promise<boolean>,
  { addReason, removeReason }: Pick<Readiness, 'addReason' | 'removeReason'>,
  clock: Clock,
): () => void {
  let isChecking = false

  async function check(): Promise<void> {
    // A disk may take its time for an answer.
    if (isChecking) return
    isChecking = true
    if (await isMoved()) addReason(directoryMoved)
    else removeReason(directoryMoved)
    isChecking = false
  }

  const checks = every(clock, directoryCheckInterval, () => void check())
  return () => checks.cancel()
}
