import { type AvailableMemory, createAvailableMemory } from '../base/memory/available-memory.ts'
import type { Clock } from '../base/time/clock.ts'
import type { Logger } from '../base/log/log.ts'
import { isSystemFault } from '../base/files/system-fault.ts'
import { serializeJson } from '../base/text/serialized-json.ts'
import type { Excess } from '../schema/worker/worker-protocol.ts'
import {
  IsolateError,
  type IsolateErrorCode,
  type IsolateServices,
  type IsolateSource,
  type Sandbox,
} from './isolate.ts'
import { createIsolateHost, type IsolateHost } from './isolates/isolate-host.ts'
import { defaultLimits, ownersLimits, type SandboxLimits, withChosen } from './limits.ts'
import { createMemoryEviction } from './threads/memory-eviction.ts'
import { createDedicatedWorkers } from './threads/dedicated-workers.ts'
import { createPluginCalls } from './calls/plugin-calls.ts'
import { createScheduler } from './flow/scheduler.ts'
import type { WorkerSlot } from './threads/worker-slot.ts'
import { createWorkerPool } from './threads/worker-pool.ts'

export interface SandboxSettings {
  clock: Clock
  logger: Logger
  limits?: Partial<SandboxLimits>
  /**
   * Shared workers in which few are down when one takes its worker along (the default), where whoever needs a worker of its
   * own has one; the same with as few workers for many as go; or a worker for each plugin.
   */
  isolation?: 'auto' | 'shared' | 'dedicated'
  /** What the machine has left; the system's own answer by default. */
  availableMemory?(): AvailableMemory | undefined
}

/** Of the machine's memory, for the strings of one plugin. They come faster than anybody can look. */
const mostForStrings = 1 / 4

/** Attempts to load a plugin in a shared worker; the last one is in a worker of its own. */
const sharedAttempts = 3

/** What a load in a shared worker may fail with that says nothing of a load elsewhere. */
const worthAnotherPlace: ReadonlySet<IsolateErrorCode> = new Set<IsolateErrorCode>([
  'overran',
  'overfilled',
  'worker_full',
  'neighbour_ended',
  'unresponsive',
  'out_of_memory',
  'worker_died',
])

/** How many share a worker: as many as fit into it, or so many that few are down at one time. */
const groupsOf = (isolation: 'auto' | 'shared', limits: SandboxLimits): SandboxLimits =>
  isolation === 'shared'
    ? { ...limits, shareInOneWorker: 1 }
    : { ...limits, isolatesPerWorker: Math.min(limits.isolatesPerWorker, limits.isolatesInLargeGroup) }

/** What ends a load of a plugin that takes too much of a shared worker. */
const excesses: Partial<Record<IsolateErrorCode, Excess>> = { overran: 'time', overfilled: 'memory' }

/** Runs plugins in worker threads. */
export function createSandbox(settings: SandboxSettings): Sandbox {
  const { clock, logger } = settings
  const availableMemory = settings.availableMemory ?? createAvailableMemory()
  const limits: SandboxLimits = { ...defaultLimits, ...settings.limits }
  const { total = Number.POSITIVE_INFINITY } = availableMemory() ?? {}
  limits.ownStringMegabytes = Math.min(limits.ownStringMegabytes, (total / 1024 / 1024) * mostForStrings)
  const isolates = new Set<IsolateHost>()
  const pluginCalls = createPluginCalls()
  const createQueue = createScheduler(clock.monotonic)
  let lastNumber = 0
  let lastWorker = 0
  let closed = false
  const common = { clock, logger, limits, nextNumber: () => (lastWorker += 1) }
  const own = createDedicatedWorkers(common)
  const { isolation = 'auto' } = settings
  const slots =
    isolation === 'dedicated'
      ? own
      : createWorkerPool({ ...common, own, limits: groupsOf(isolation, limits) })
  const memoryEviction = createMemoryEviction({ clock, logger, availableMemory, workers: slots.memoryUsers })

  async function loadAt(
    slot: WorkerSlot,
    number: number,
    source: IsolateSource,
    services: IsolateServices,
    signal: AbortSignal | undefined,
  ): Promise<IsolateHost> {
    const isolate = createIsolateHost({
      ...{ clock, logger, slot, number, source, services, pluginCalls, createQueue },
      limits: withChosen(limits, source.limits ?? {}),
    })
    isolates.add(isolate)
    void isolate.ended.then(() => isolates.delete(isolate))
    const stop = (): void => void isolate.close()
    signal?.addEventListener('abort', stop)
    try {
      await isolate.load()
    } finally {
      signal?.removeEventListener('abort', stop)
    }
    return isolate
  }

  return {
    limits: ownersLimits(limits),
    get references() {
      return pluginCalls.references
    },
    async load(source, services, signal) {
      const isUnwanted = (): boolean => closed || signal?.aborted === true
      for (let attempt = 1; ; attempt += 1) {
        if (isUnwanted()) throw new IsolateError('worker_died', 'the load was ended')
        lastNumber += 1
        const number = lastNumber
        const slot =
          attempt > sharedAttempts ? slots.takeDedicated(number, source) : slots.take(number, source)
        try {
          return await loadAt(slot, number, source, services, signal)
        } catch (error) {
          const again =
            slot.isolation === 'shared' && error instanceof IsolateError && worthAnotherPlace.has(error.code)
          // For another worker there is no room either.
          if (!again || isUnwanted() || isSystemFault(error)) throw error
          const excess = excesses[error.code]
          if (excess !== undefined) slot.moveAway(excess)
          if (error.code === 'worker_full') slot.reportWorkerFull()
          const message = `loading in a shared worker came to nothing (${error.message}); trying again in another one`
          services.log(serializeJson({ at: new Date(clock.now()).toISOString(), level: 'warn', message }))
        }
      }
    },
    expect: slots.expect,
    usage: () => [...isolates].map((isolate) => isolate.usage()),
    async close() {
      closed = true
      memoryEviction.close()
      await Promise.all([...isolates].map((isolate) => isolate.close()))
      await slots.close()
    },
  }
}
