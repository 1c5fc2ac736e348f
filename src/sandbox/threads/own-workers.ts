import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import { type SandboxLimits, withChosen } from '../limits.ts'
import type { WorkerSlot, WorkerSlots } from './worker-slot.ts'
import { createWorkerThread, type WorkerThread } from './worker-thread.ts'

export interface OwnWorkersSettings {
  clock: Clock
  logger: Logger
  limits: SandboxLimits
  /** Numbers for workers. */
  nextNumber(): number
}

/** A worker for each isolate. */
export function createOwnWorkers({ clock, logger, limits, nextNumber }: OwnWorkersSettings): WorkerSlots {
  const threads = new Set<WorkerThread>()

  const take: WorkerSlots['take'] = (_isolate, { id, limits: chosen = {} }) => {
    const ownLimits = withChosen(limits, chosen)
    const thread = createWorkerThread({ clock, logger, limits: ownLimits, name: id })
    threads.add(thread)
    const slot: WorkerSlot = {
      ...thread,
      isolation: 'dedicated',
      worker: nextNumber(),
      heapMegabytes: ownLimits.oldGenerationMegabytes,
      moveAway: () => undefined,
      leave() {
        threads.delete(thread)
        return thread.close()
      },
    }
    return slot
  }

  return {
    take,
    takeOwn: take,
    async close() {
      await Promise.all([...threads].map((thread) => thread.close()))
    },
  }
}
