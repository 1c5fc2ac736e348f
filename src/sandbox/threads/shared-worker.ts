import type { Clock } from '../../base/time/clock.ts'
import type { Logger } from '../../base/log/log.ts'
import { isSystemFault } from '../../base/files/system-fault.ts'
import { IsolateError, type IsolateErrorCode } from '../isolate.ts'
import type { SandboxLimits } from '../limits.ts'
import type { MemoryUser } from './memory-eviction.ts'
import { createTurnWatchdog } from './turn-watchdog.ts'
import { createWorkerThread, type WorkerThread } from './worker-thread.ts'

/** Ends for want of memory, and what of. */
const shortages: Partial<Record<IsolateErrorCode, 'memory' | 'machine memory'>> = {
  out_of_memory: 'memory',
  machine_out_of_memory: 'machine memory',
}

/** One worker for several isolates, with what tells the culprit when it hangs or dies. */
export interface SharedWorker extends MemoryUser {
  readonly number: number
  readonly thread: WorkerThread
  /** Full ids of its plugins by number of the isolate. */
  readonly isolates: Map<number, string>
  /** Ends the worker because of this isolate. */
  fail(culprit: number, error: IsolateError): void
  close(): Promise<void>
}

export interface SharedWorkerSettings {
  clock: Clock
  logger: Logger
  limits: SandboxLimits
  number: number
  /** The worker is not there any more. `culprits`: plugins to keep apart from now on. */
  died(worker: SharedWorker, culprits: readonly string[], error: IsolateError): void
}

/** Throws `IsolateError` when the system has no room for one more worker. */
export function createSharedWorker(settings: SharedWorkerSettings): SharedWorker {
  const { clock, logger, limits, number } = settings
  const isolates = new Map<number, string>()
  let culprit: number | undefined
  let death: IsolateError | undefined
  /** What its end means for those that are not to blame. */
  let forNeighbours: IsolateError | undefined
  let closed = false

  const watch = createTurnWatchdog({
    clock,
    limits,
    threadTimes: () => thread.times(),
    hung: (isolate) =>
      fail(
        isolate,
        new IsolateError(
          'unresponsive',
          `the plugin did not let go of the worker that it shares for ${(limits.hangBeats * limits.beatInterval) / 1000} s, and was ended`,
        ),
      ),
  })

  const thread = createWorkerThread({
    ...{ clock, logger, name: `shared ${number}` },
    limits: { ...limits, memory: limits.sharedHeapMegabytes },
    shared: {
      turns: watch.rules,
      ready() {
        if (closed) return
        // Each entry into Lua has a bound here, so the worker always answers: also while plugins come and go.
        thread.watch(true)
        watch.start()
      },
      resumeBeats: watch.start,
      dying(error) {
        watch.stop()
        death = error
        culprit ??= watch.culprit(shortages[error.code] ?? 'other')
        const plugin = culprit === undefined ? undefined : isolates.get(culprit)
        const because = plugin === undefined ? 'its worker' : `the worker that it shared with ${plugin}`
        forNeighbours = new IsolateError('neighbour_ended', `${because} ended: ${error.code}`)
        if (isSystemFault(error)) {
          // It never began.
          forNeighbours = error
          settings.died(worker, [], error)
          return
        }
        // When nobody can be named each gets a worker of its own: the next time it is known who it was.
        settings.died(worker, plugin === undefined ? [...isolates.values()] : [plugin], error)
      },
      deathFor: (isolate) => (isolate === culprit ? death : forNeighbours),
    },
  })

  function fail(isolate: number, error: IsolateError): void {
    culprit = isolate
    thread.fail(error)
  }

  const worker: SharedWorker = {
    number,
    thread,
    isolates,
    fail,
    memory: thread.memory,
    largest: watch.largestGrown,
    spared: limits.sparedGrowthMegabytes * 1024 * 1024,
    collectGarbage: thread.collectGarbage,
    evict(reason, atOnce) {
      if (atOnce) return thread.evict(reason, atOnce)
      watch.evictLargest()
      // Whoever has most may be at rest.
      thread.post({ kind: 'makeRoom' })
      return undefined
    },
    close() {
      closed = true
      watch.stop()
      return thread.close()
    },
  }
  return worker
}
