import { diskRetryDelay } from '../../base/files/disk-retry-delays.ts'
import { scheduleDeadline } from '../../base/time/clock.ts'
import { createKeyedTimers, type KeyedTimers } from '../../base/time/keyed-timers.ts'
import type { SupervisionParts } from './reconciler.ts'
import { type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import { loadAutomatically } from './automatic-load.ts'

/**
 * Does what the facts announce: starts a plugin again after the delay that its failure was written down with, and
 * calls it stable when it has run long enough. It remembers nothing: the fold says what is to be done.
 */
export interface Supervisor {
  /** Writes a crash down; a plugin in the trial of an update goes back to the version before. Never rejects. */
  recover(id: string): Promise<void>
  /** Nothing is started from now on. */
  stop(): void
}

export function createSupervisor(
  context: LifecycleContext,
  { loader, installer, snapshots, reconciler, stableAfter }: SupervisionParts & { stableAfter: number },
): Supervisor {
  const { clock, logger, journal, mutex, ownership } = context
  const restarts = createKeyedTimers(clock)
  // While the process stood still no plugin ran.
  const runs = createKeyedTimers({ schedule: (...given) => scheduleDeadline(clock, ...given) })
  let stopped = false

  const stopListening = journal.subscribe(({ plugin }) => {
    if (plugin !== null) arrange(plugin)
  })

  function arrange(id: string): void {
    restarts.cancel(id)
    runs.cancel(id)
    if (stopped || !ownership.owns(id)) return
    const snapshot = snapshotOfPlugin(context, id)
    const { restart, crashes, trial } = snapshot.context
    const state = snapshot.value
    function schedule(
      timers: KeyedTimers,
      delay: number,
      task: () => Promise<void>,
      failure: string,
      attempt = 0,
    ): void {
      timers.set(id, delay, () => {
        void quietly(id, failure, task).then((isDone) => {
          // No fact has come of it, so none brings it about again.
          if (!isDone && !stopped && !restarts.has(id) && !runs.has(id))
            schedule(timers, diskRetryDelay(attempt), task, failure, attempt + 1)
        })
      })
    }
    if (state === 'failed' && restart !== null) {
      schedule(restarts, restart.delay, () => startAgain(id), 'A plugin could not be restarted')
    } else if (state === 'running' && (crashes > 0 || trial !== null)) {
      const { revision } = snapshot.context
      schedule(runs, stableAfter, () => stabilize(id, revision), 'A stable run could not be written down')
    }
  }

  /** Under the plugin's mutex, with the snapshot written afterwards. Answers whether it could be done. */
  async function quietly(id: string, failure: string, task: () => Promise<void>): Promise<boolean> {
    try {
      await mutex.run(id, async () => {
        if (ownership.owns(id)) await task()
      })
      await snapshots.flush()
      return true
    } catch (error) {
      logger.error(failure, { plugin: id, error })
      reconciler.later(id, error)
      return false
    }
  }

  async function startAgain(id: string): Promise<void> {
    const snapshot = snapshotOfPlugin(context, id)
    if (stopped || snapshot.value !== 'failed' || snapshot.context.restart === null) return
    const isFetch = snapshot.context.error?.code === 'repository_unreachable'
    const reason = isFetch ? 'its files could not be fetched before' : 'restart after a crash'
    await loadAutomatically(context, { loader, installer }, id, reason)
  }

  async function stabilize(id: string, revision: number): Promise<void> {
    const snapshot = snapshotOfPlugin(context, id)
    if (stopped || snapshot.value !== 'running' || snapshot.context.revision !== revision) return
    const data = { keepsRevision: true } as const
    await journal.append([{ type: 'PluginStabilized', plugin: id, data }], 'supervisor')
  }

  return {
    async recover(id) {
      await quietly(id, 'The crash of a plugin could not be written down', async () => {
        await loader.settle(id)
        const { restart, crashes, error } = snapshotOfPlugin(context, id).context
        if (stopped || (await installer.returnFromTrial(id))) return
        if (snapshotOfPlugin(context, id).value === 'failed' && restart === null) {
          logger.error('A plugin crashed too often and stays down until somebody starts it', {
            plugin: id,
            crashes,
            error: error?.message,
          })
        }
      })
    },
    stop() {
      stopped = true
      stopListening()
      restarts.cancelAll()
      runs.cancelAll()
    },
  }
}
