import { Problem } from '../base/problem.ts'
import { requireRevision } from '../journal/decide.ts'
import type { SnapshotWriter } from '../journal/snapshot-writer.ts'
import type { CatchUp } from './catch-up.ts'
import { type LifecycleContext, snapshotOfPlugin } from './context.ts'
import type { CommandContext } from './lifecycle.ts'
import type { Loader } from './loader.ts'

/** Runs commands one after another for each plugin, and answers each when all it did is on disk. */
export interface CommandRunner {
  /** Runs a command for one plugin after those before it; answers its outcome when all is on disk. */
  run<T>(command: CommandContext, id: string, task: () => Promise<void>, outcome: () => T): Promise<T>
  /** Throws `shutting_down` once the host stops. */
  requireRunning(): void
  readonly stopping: boolean
  /** From now on every command is refused. */
  refuseFurther(): void
}

export function createCommandRunner(
  context: LifecycleContext,
  { loader, snapshots, catchUp }: { loader: Loader; snapshots: SnapshotWriter; catchUp: CatchUp },
): CommandRunner {
  let stopping = false

  function requireRunning(): void {
    if (stopping) {
      throw new Problem('shutting_down', 'The host is shutting down; try again when it is back.')
    }
  }

  return {
    async run({ expectedRevision }, id, task, outcome) {
      requireRunning()
      const result = await context.mutex.run(id, async () => {
        requireRunning()
        requireRevision(snapshotOfPlugin(context, id), expectedRevision)
        try {
          await loader.settle(id)
          await task()
        } catch (error) {
          catchUp.later(id)
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
