import { isDeepStrictEqual } from 'node:util'
import type { Clock, ScheduledCall } from '../../base/time/clock.ts'
import type { Logger } from '../../base/log/log.ts'
import { type SandboxLimits, withChosen } from '../limits.ts'
import type { WorkerSlot, WorkerSlots } from './worker-slot.ts'
import { createWorkerThread, type WorkerThread } from './worker-thread.ts'

export interface DedicatedWorkersSettings {
  clock: Clock
  logger: Logger
  limits: SandboxLimits
  /** Numbers for workers. */
  nextNumber(): number
}

/** The worker of one plugin, and for which of its versions and limits it is. */
interface OwnWorker {
  readonly number: number
  readonly version: string
  readonly limits: SandboxLimits
  readonly thread: WorkerThread
}

/**
 * A worker for each isolate. One that its plugin has left in order waits a moment for the same plugin: it may be
 * loaded again at once, with another configuration for instance, and a new worker takes longer than all else of that.
 */
export function createDedicatedWorkers({
  clock,
  logger,
  limits,
  nextNumber,
}: DedicatedWorkersSettings): WorkerSlots {
  const threads = new Set<WorkerThread>()
  /** By full id; each ends when its time is over. */
  const waiting = new Map<string, { worker: OwnWorker; end: ScheduledCall }>()

  function takeWaiting(id: string): OwnWorker | undefined {
    const found = waiting.get(id)
    found?.end.cancel()
    waiting.delete(id)
    return found?.worker
  }

  async function end({ thread }: OwnWorker): Promise<void> {
    await thread.close()
    threads.delete(thread)
  }

  function workerFor(id: string, version: string, ownLimits: SandboxLimits): OwnWorker {
    const found = takeWaiting(id)
    const fits = found?.version === version && isDeepStrictEqual(found.limits, ownLimits)
    if (found !== undefined && fits && !found.thread.gone) return found
    if (found !== undefined) void end(found)
    const thread = createWorkerThread({ clock, logger, limits: ownLimits, name: id })
    threads.add(thread)
    return { number: nextNumber(), version, limits: ownLimits, thread }
  }

  /** What a large plugin leaves behind would count as that of the next one. */
  function mayWait({ thread }: OwnWorker): boolean {
    const { memory } = thread.usage()
    return !thread.gone && memory !== null && memory <= limits.keptWorkerMegabytes * 1024 * 1024
  }

  function letWait(id: string, worker: OwnWorker): void {
    const before = takeWaiting(id)
    if (before !== undefined) void end(before)
    const late = (): void => {
      waiting.delete(id)
      void end(worker)
    }
    waiting.set(id, { worker, end: clock.schedule(limits.keptWorkerTime, late) })
  }

  const take: WorkerSlots['take'] = (_isolate, { id, version, limits: chosen = {} }) => {
    const worker = workerFor(id, version, withChosen(limits, chosen))
    const slot: WorkerSlot = {
      ...worker.thread,
      isolation: 'dedicated',
      worker: worker.number,
      heapMegabytes: worker.limits.memory,
      moveAway: () => 'the same again',
      reportWorkerFull: () => undefined,
      async leave(inOrder) {
        if (inOrder && mayWait(worker)) letWait(id, worker)
        else await end(worker)
      },
    }
    return slot
  }

  return {
    take,
    takeDedicated: take,
    memoryUsers: () => threads,
    // For whose limits and version is not known yet.
    expect: () => Promise.resolve(),
    async close() {
      for (const id of [...waiting.keys()]) takeWaiting(id)
      await Promise.all([...threads].map((thread) => thread.close()))
    },
  }
}
