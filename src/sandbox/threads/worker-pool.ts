import { availableParallelism } from 'node:os'
import type { ScheduledCall } from '../../base/time/clock.ts'
import { messageOf } from '../../base/problem.ts'
import { IsolateError, type IsolateSource } from '../isolate.ts'
import type { Excess } from '../../schema/worker/worker-protocol.ts'
import { type ChosenLimits, workersOwnLimits } from '../../schema/plugin/plugin-limits.ts'
import { placeIsolate, workersAtFirst } from './placement.ts'
import { delayOptimization } from './optimization-delay.ts'
import type { DedicatedWorkersSettings } from './dedicated-workers.ts'
import type { WorkerSlot, WorkerSlots } from './worker-slot.ts'
import { createSharedWorker, type SharedWorker } from './shared-worker.ts'

export interface WorkerPoolSettings extends DedicatedWorkersSettings {
  own: WorkerSlots
}

/** Plugins that are loaded at once from which it pays to optimise later. */
const manyPlugins = 20

/** Few workers for many isolates, and one more that is kept ready; a plugin that has disturbed others is set apart. */
export function createWorkerPool({
  clock,
  logger,
  limits,
  own,
  nextNumber,
}: WorkerPoolSettings): WorkerSlots {
  const workers = new Map<number, SharedWorker>()
  /** Versions of plugins that get a worker of their own, for as long as the host runs. */
  const apart = new Map<string, string>()
  const versions = new Map<string, string>()
  /** Versions of plugins that have left a worker which many had filled: they are in small groups from then on. */
  const crowdedOut = new Map<string, string>()
  /** Workers that take no more than a small group. */
  const small = new WeakSet<SharedWorker>()
  const rules = { ...limits, cores: availableParallelism() }
  /** Started, and nobody's yet. */
  const spares: SharedWorker[] = []
  let spareDue: ScheduledCall | undefined
  let expected = 0
  let optimizeAsUsual = (): void => undefined
  let closing = false

  function start(): SharedWorker {
    return createSharedWorker({ clock, logger, limits, number: nextNumber(), died })
  }

  function died(worker: SharedWorker, culprits: readonly string[], error: IsolateError): void {
    workers.delete(worker.number)
    if (spares.includes(worker)) spares.splice(spares.indexOf(worker), 1)
    for (const plugin of culprits) setApart(plugin)
    logger.error('A worker that plugins share has ended', {
      worker: worker.number,
      culprit: culprits.length === 1 ? culprits[0] : undefined,
      plugins: [...worker.isolates.values()],
      reason: error.message,
    })
  }

  function setApart(plugin: string): void {
    apart.set(plugin, versions.get(plugin) ?? '')
  }

  /** Where many share a worker it may be nobody's fault that they fill it. Answers whether they are so many. */
  function reportWorkerFull(worker: SharedWorker, isolate: number, { id, version }: IsolateSource): boolean {
    // One whose load has failed has left it already.
    const others = worker.isolates.size - (worker.isolates.has(isolate) ? 1 : 0)
    if (others < limits.isolatesInSmallGroup) return false
    crowdedOut.set(id, version)
    small.add(worker)
    logger.warn('A worker that plugins share is full', { worker: worker.number, leaves: id })
    return true
  }

  function moveAway(worker: SharedWorker, isolate: number, source: IsolateSource, excess: Excess): string {
    if (excess !== 'time' && reportWorkerFull(worker, isolate, source)) return 'another one'
    const { id } = source
    setApart(id)
    logger.warn('A plugin gets a worker of its own', { plugin: id, excess })
    return 'one of its own'
  }

  function isOpen(worker: SharedWorker): boolean {
    return !small.has(worker) || worker.isolates.size < limits.isolatesInSmallGroup
  }

  function keepSpare(): void {
    if (closing) return
    spareDue ??= clock.schedule(limits.spareDelay, () => {
      spareDue = undefined
      if (spares.length === 0) startSpare()
    })
  }

  function startSpare(): void {
    try {
      spares.push(start())
    } catch (error) {
      logger.warn('No worker could be started to be kept ready', { reason: messageOf(error) })
    }
  }

  function workerFor({ id, version }: IsolateSource): SharedWorker {
    const needsSmallGroup = crowdedOut.get(id) === version
    const open = [...workers.values()].filter(
      (worker) => isOpen(worker) && (small.has(worker) || !needsSmallGroup),
    )
    const held = new Map(open.map(({ number, isolates }) => [number, isolates.size]))
    const placed = placeIsolate(rules, held)
    const found = placed === undefined ? undefined : workers.get(placed)
    if (found !== undefined) return found
    const worker = spares.shift() ?? start()
    workers.set(worker.number, worker)
    if (needsSmallGroup) small.add(worker)
    keepSpare()
    return worker
  }

  async function leave(worker: SharedWorker, isolate: number, inOrder: boolean): Promise<void> {
    const plugin = worker.isolates.get(isolate)
    // A host that stops ends all workers anyway.
    if (!inOrder && !closing && workers.has(worker.number)) {
      worker.fail(
        isolate,
        new IsolateError('unresponsive', `${plugin ?? 'a plugin'} could not be taken out of its worker`),
      )
    }
    worker.isolates.delete(isolate)
    if (worker.isolates.size > 0 || !workers.delete(worker.number)) return
    if (closing) {
      await worker.close()
      return
    }
    // It is kept ready in the place of a fresh one, as its code is warm; and none need be started.
    const fresh = spares.splice(0, Infinity, worker)
    spareDue?.cancel()
    spareDue = undefined
    await closeAll(fresh)
  }

  return {
    memoryUsers: () => [...own.memoryUsers(), ...workers.values()],
    async expect(isolates) {
      if (closing) return
      expected = isolates
      optimizeAsUsual()
      const wanted = Math.max(workersAtFirst(rules, isolates) - workers.size, 0)
      for (let missing = wanted - spares.length; missing > 0; missing -= 1) startSpare()
      await closeAll(spares.splice(workers.size === 0 ? wanted : Math.max(wanted, 1)))
    },
    take(isolate, source: IsolateSource): WorkerSlot {
      // Another version may have mended it.
      if (apart.get(source.id) === source.version || needsItsOwn(source.limits))
        return own.take(isolate, source)
      versions.set(source.id, source.version)
      if (expected >= manyPlugins) {
        expected = 0
        optimizeAsUsual = delayOptimization()
      }
      const worker = workerFor(source)
      worker.isolates.set(isolate, source.id)
      const { thread } = worker
      return {
        ...thread,
        isolation: 'shared',
        worker: worker.number,
        heapMegabytes: limits.sharedHeapMegabytes,
        watch: () => undefined,
        moveAway: (excess) => moveAway(worker, isolate, source, excess),
        reportWorkerFull: () => void reportWorkerFull(worker, isolate, source),
        leave: (inOrder) => leave(worker, isolate, inOrder),
      }
    },
    takeDedicated: own.takeDedicated,
    async close() {
      closing = true
      optimizeAsUsual()
      spareDue?.cancel()
      const all = [...workers.values(), ...spares.splice(0)]
      workers.clear()
      await Promise.all([closeAll(all), own.close()])
    },
  }
}

async function closeAll(workers: readonly SharedWorker[]): Promise<void> {
  await Promise.all(workers.map((worker) => worker.close()))
}

/** Memory and time of its own can only be kept in a worker of its own. */
function needsItsOwn(chosen: ChosenLimits = {}): boolean {
  return workersOwnLimits.some((name) => chosen[name] !== undefined)
}
