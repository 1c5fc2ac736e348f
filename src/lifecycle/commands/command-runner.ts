import { Problem } from '../../base/problem.ts'
import { requireRevision } from '../../journal/decide.ts'
import { stateOf } from '../../journal/evolve.ts'
import type { SnapshotWriter } from '../../journal/snapshot-writer.ts'
import type { Reconciler } from '../supervision/reconciler.ts'
import { type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import type { CommandContext } from '../lifecycle.ts'
import type { Loader } from '../loading/loader.ts'

/** Runs commands one after another for each plugin, and answers each when all it did is on disk. */
export interface CommandRunner {
  /**
   * Runs a command for one plugin after those before it; answers its outcome when all is on disk. Throws
   * `invalid_transition` when a load that belongs to it was interrupted by another command. `interrupting`: the
   * name of a command that ends a load which is under way rather than wait for it.
   */
  run<T>(
    command: CommandContext,
    id: string,
    task: () => Promise<void>,
    outcome: () => T,
    interrupting?: string,
  ): Promise<T>
  /** Throws `shutting_down` once the host stops. */
  requireRunning(): void
  readonly stopping: boolean
  /** From now on every command is refused. */
  refuseFurther(): void
}

export function createCommandRunner(
  context: LifecycleContext,
  { loader, snapshots, reconciler }: { loader: Loader; snapshots: SnapshotWriter; reconciler: Reconciler },
): CommandRunner {
  const { loads } = context
  let stopping = false

  function requireRunning(): void {
    if (stopping) {
      throw new Problem('shutting_down', 'The host is shutting down; try again when it is back.')
    }
  }

  function requireWholeLoad(id: string): void {
    const command = loads.takeInterruption(id)
    if (command === undefined) return
    throw new Problem(
      'invalid_transition',
      `${id} was not loaded: ${command} interrupted that. What was asked for besides has been done; ask again if it is still to run.`,
    )
  }

  return {
    async run({ by, expectedRevision }, id, task, outcome, interrupting) {
      requireRunning()
      const seen = snapshotOfPlugin(context, id)
      if (interrupting !== undefined) requireRevision(seen, expectedRevision)
      const takeTurn = interrupting === undefined ? undefined : loads.hold(id, `${interrupting} (${by})`)
      const result = await context.mutex.run(id, async () => {
        takeTurn?.()
        loads.takeInterruption(id)
        requireRunning()
        try {
          const present = snapshotOfPlugin(context, id)
          // What came of the load that the command has ended is no change by somebody else.
          const isOutcome =
            takeTurn !== undefined &&
            stateOf(seen) === 'loading' &&
            present.context.revision === seen.context.revision + 1
          if (!isOutcome) requireRevision(present, expectedRevision)
          await loader.settle(id)
          await task()
          requireWholeLoad(id)
        } catch (error) {
          reconciler.later(id)
          throw error
        }
        // Before the next command changes it again.
        return outcome()
      })
      await snapshots.flush()
      return result
    },
    requireRunning,
    get stopping() {
      return stopping
    },
    refuseFurther() {
      stopping = true
    },
  }
}
