import { getOrInsert } from '../../base/get-or-insert.ts'
import { Problem, shuttingDown } from '../../base/problem.ts'
import { requireRevision } from '../../journal/fold/decide.ts'
import { isInstalled, type PluginSnapshot } from '../../journal/fold/evolve.ts'
import { StaleDecisionError } from '../../journal/fold/stale-decision.ts'
import type { SupervisionParts } from '../supervision/reconciler.ts'
import { type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import type { CommandContext, ReleasableTurn } from '../lifecycle.ts'
import { ElsewhereError } from '../ownership.ts'
import { type CommandEnds, moveToAnotherHost } from '../running/load-cancellation.ts'

/** A command that does not wait for what it makes needless. `name`: for people. */
export interface Interrupting {
  name: string
  ends: CommandEnds
}

/** Runs commands one after another for each plugin, and answers each when all it did is on disk. */
export interface CommandRunner {
  /**
   * Runs a command for one plugin after those before it; answers its outcome when all is on disk. While it has released its
   * turn, others are carried out. Throws
   * `invalid_transition` when a load that belongs to it was interrupted by another command, unless that one loads it.
   * `interrupting`: a command that ends what is under way rather than wait for it. A request that comes again, also by way
   * of another host, is not carried out again.
   */
  run<T>(
    command: CommandContext,
    id: string,
    task: CommandTask,
    outcome: () => T,
    interrupting?: Interrupting,
  ): Promise<T>
  /** Throws `shutting_down` once the host stops. */
  requireRunning(): void
  readonly stopping: boolean
  /** From now on every command is refused. */
  refuseFurther(): void
}

/** How often a command is decided, while what its host did before becomes known only then. */
const mostDecisions = 5

/** Ends what a command holds, as it has its turn; whether that has ended anything. */
type TakeTurn = () => boolean
type CommandTask = (turn: ReleasableTurn) => Promise<void>
type CommandOf<T> = [id: string, task: CommandTask, outcome: () => T, interrupting?: Interrupting]

/** Only what came of a load has happened since: for the command that has ended it that is no change by somebody else. */
export function isOutcomeOfLoad(seen: PluginSnapshot, present: PluginSnapshot): boolean {
  return seen.value === 'loading' && present.context.revision === seen.context.revision + 1
}

export function createCommandRunner(
  context: LifecycleContext,
  { loader, snapshots, reconciler }: Omit<SupervisionParts, 'installer'>,
): CommandRunner {
  const { loads, journal } = context
  /** Outcomes of requests that have a key. */
  const underWay = new Map<string, Promise<unknown>>()
  let stopping = false

  function requireRunning(): void {
    if (stopping) throw shuttingDown()
  }

  function requireWholeLoad(id: string): void {
    const command = loads.takeInterruption(id)
    // What was asked for is written down: the next host loads it.
    if (command === undefined || command === moveToAnotherHost) return
    throw new Problem(
      'invalid_transition',
      `${id} was not loaded: ${command} interrupted that. What was asked for besides has been done; ask again if it is still to run.`,
    )
  }

  /** A plugin that is installed is changed by the host that has it, and by no other. */
  function requireOwnership(id: string): void {
    if (!isInstalled(snapshotOfPlugin(context, id)) || context.ownership.owns(id)) return
    throw new ElsewhereError(id)
  }

  const isDone = ({ requestKey }: CommandContext): boolean =>
    requestKey !== undefined && journal.recallRequest(requestKey) !== undefined

  const carryOut: CommandRunner['run'] = async (command, id, task, outcome, interrupting) => {
    const { by, expectedRevision } = command
    requireRunning()
    const seen = snapshotOfPlugin(context, id)
    const isInterrupting = interrupting !== undefined && !isDone(command)
    if (isInterrupting) requireRevision(seen, expectedRevision)
    const hold = () => interrupting && loads.hold(id, `${interrupting.name} (${by})`, interrupting.ends)
    const takeTurn = isInterrupting ? hold() : undefined
    const inTurn = () =>
      context.mutex.run(id, async () => {
        const hasEnded = takeTurn?.() === true
        requireOwnership(id)
        const isRepeated = isDone(command)
        loads.takeInterruption(id)
        if (!isRepeated) requireRunning()
        let failure: unknown
        try {
          if (isRepeated) {
            // Its facts are there, but what follows from them may have been refused by the disk.
            await reconciler.finish(id)
            return outcome()
          }
          for (let tries = 1; tries === 1 || !isDone(command); tries += 1) {
            const present = snapshotOfPlugin(context, id)
            const isOutcome =
              (hasEnded || interrupting?.ends === 'everything') && isOutcomeOfLoad(seen, present)
            if (!isOutcome) requireRevision(present, expectedRevision)
            const accepted = expectedRevision === undefined ? undefined : present.context.revision
            const turn = turnOf(id, { ...command, expectedRevision: accepted }, hold)
            if (await isDecided(id, () => task(turn), tries)) break
          }
          requireWholeLoad(id)
        } catch (error) {
          failure = error
          throw error
        } finally {
          // It may have failed half-way; or its facts are written down, and the load after them has met another host's.
          reconciler.later(id, failure)
        }
        // Before the next command changes it again.
        return outcome()
      })
    return snapshots.include(inTurn)
  }

  /** `hold`: as the command waits for its first turn. */
  function turnOf(id: string, command: CommandContext, hold: () => TakeTurn | undefined): ReleasableTurn {
    return {
      async whileReleased(work, undo) {
        let takeTurn: TakeTurn | undefined
        const held = () => work().finally(() => void (takeTurn = hold()))
        const done = await context.mutex.whileReleased(id, held).finally(() => takeTurn?.())
        try {
          requireRunning()
          requireOwnership(id)
          // The same request by way of another host: there is nothing to do any more.
          if (isDone(command)) throw new StaleDecisionError(id)
          loads.takeInterruption(id)
          requireRevision(snapshotOfPlugin(context, id), command.expectedRevision)
          await loader.settle(id)
          return done
        } catch (error) {
          await undo(done)
          throw error
        }
      },
    }
  }

  /** False: the plugin has changed meanwhile, so the command is to be decided once more. */
  async function isDecided(id: string, task: () => Promise<void>, tries: number): Promise<boolean> {
    try {
      await loader.settle(id)
      await task()
      return true
    } catch (error) {
      if (!(error instanceof StaleDecisionError) || tries === mostDecisions) throw error
      return false
    }
  }

  return {
    run<T>(command: CommandContext, ...given: CommandOf<T>): Promise<T> {
      const { requestKey } = command
      if (requestKey === undefined) return carryOut(command, ...given)
      const outcome = getOrInsert(underWay, requestKey, () =>
        carryOut(command, ...given).finally(() => underWay.delete(requestKey)),
      )
      return outcome as Promise<T>
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
