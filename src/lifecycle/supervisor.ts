import type { ScheduledCall } from '../base/clock.ts'
import { messageOf } from '../base/problem.ts'
import { decide } from '../journal/decide.ts'
import { stateOf } from '../journal/evolve.ts'
import type { SnapshotWriter } from '../journal/snapshot.ts'
import { type LifecycleContext, snapshotOfPlugin } from './context.ts'
import type { Loader } from './loader.ts'
import { decideRestart, type RestartPolicy } from './restart-policy.ts'

/** Starts plugins that crashed again, as the restart policy says. */
export interface Supervisor {
  /** Writes the crash down and arranges what the policy says. Never rejects. */
  recover(id: string): Promise<void>
  /** A person's command starts the crash budget anew. */
  forget(id: string): void
  /** No plugin is started again from now on. */
  stop(): void
}

export function createSupervisor(
  context: LifecycleContext,
  {
    loader,
    snapshots,
    policy,
    random,
  }: { loader: Loader; snapshots: SnapshotWriter; policy: RestartPolicy; random: () => number },
): Supervisor {
  const { clock, logger, journal, mutex } = context
  const restarts = new Map<string, { crashes: number[]; timer: ScheduledCall | undefined }>()
  let stopped = false

  function scheduleRestart(id: string): void {
    const restart = restarts.get(id) ?? { crashes: [], timer: undefined }
    restarts.set(id, restart)
    // Not the time of day: that may jump, and old crashes would count again.
    const now = clock.monotonic()
    restart.crashes = [...restart.crashes.filter((at) => now - at < policy.window), now]
    const decision = decideRestart(policy, restart.crashes, now, random())
    if (!decision.restart) {
      logger.error('A plugin crashed too often and stays down until somebody starts it', {
        plugin: id,
        crashes: decision.crashes,
      })
      return
    }
    restart.timer?.cancel()
    restart.timer = clock.schedule(decision.delay, () => {
      restart.timer = undefined
      void restartAfterCrash(id)
    })
  }

  async function restartAfterCrash(id: string): Promise<void> {
    try {
      await mutex.run(id, async () => {
        if (stopped || stateOf(snapshotOfPlugin(context, id)) !== 'failed') return
        await journal.append(
          decide(snapshotOfPlugin(context, id), { type: 'load', reason: 'restart after a crash' }),
          'supervisor',
        )
        await loader.finishLoading(id, 'supervisor')
      })
      await snapshots.flush()
    } catch (error) {
      logger.error('A plugin could not be restarted', { plugin: id, error: messageOf(error) })
    }
  }

  return {
    async recover(id) {
      try {
        await mutex.run(id, () => loader.settle(id))
        await snapshots.flush()
        if (!stopped) scheduleRestart(id)
      } catch (error) {
        logger.error('The crash of a plugin could not be written down', {
          plugin: id,
          error: messageOf(error),
        })
      }
    },
    forget(id) {
      restarts.get(id)?.timer?.cancel()
      restarts.delete(id)
    },
    stop() {
      stopped = true
      for (const restart of restarts.values()) restart.timer?.cancel()
    },
  }
}
