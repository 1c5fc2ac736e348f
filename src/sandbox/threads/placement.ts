import type { SandboxLimits } from '../limits.ts'

/** Where a plugin goes in shared isolation. Pure. */

export interface PlacementRules extends Pick<
  SandboxLimits,
  'isolatesPerWorker' | 'isolatesInSmallGroup' | 'shareInOneWorker' | 'isolatesBeforeNextWorker'
> {
  /** Workers that run side by side; more than there are cores only for want of room. */
  cores: number
}

/** The number of the worker for one isolate more, or undefined for a new worker. `held`: isolates by worker. */
export function placeIsolate(rules: PlacementRules, held: ReadonlyMap<number, number>): number | undefined {
  let emptiest: { worker: number; isolates: number } | undefined
  let fullestOfSmall: { worker: number; isolates: number } | undefined
  const room = roomInOneWorker(rules, held)
  for (const [worker, isolates] of held) {
    if (isolates >= room) continue
    if (emptiest === undefined || isolates < emptiest.isolates) emptiest = { worker, isolates }
    const isSmall = isolates < rules.isolatesBeforeNextWorker
    if (isSmall && isolates > (fullestOfSmall?.isolates ?? -1)) fullestOfSmall = { worker, isolates }
  }
  // Fill one worker a little before the next one, so that a few plugins take one worker and not one each.
  if (fullestOfSmall !== undefined) return fullestOfSmall.worker
  if (held.size < rules.cores) return undefined
  return emptiest?.worker
}

/** Isolates that a worker may hold when there is one more. */
function roomInOneWorker(rules: PlacementRules, held: ReadonlyMap<number, number>): number {
  const all = [...held.values()].reduce((sum, isolates) => sum + isolates, 1)
  const share = Math.ceil(all * rules.shareInOneWorker)
  return Math.min(rules.isolatesPerWorker, Math.max(rules.isolatesInSmallGroup, share))
}

/** Workers side by side for so many isolates, when there is none yet. */
export function workersAtFirst(rules: PlacementRules, isolates: number): number {
  return Math.min(Math.ceil(isolates / rules.isolatesBeforeNextWorker), rules.cores)
}
