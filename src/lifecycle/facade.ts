import { Problem, type ProblemCode } from '../base/problem.ts'
import type { FleetHost, Placement } from '../schema/plugin/fleet-host.ts'
import type { Plugin } from '../schema/plugin/plugin.ts'
import type { CommandContext, Lifecycle } from './lifecycle.ts'

/** What whoever answers for all plugins needs: those of this host, or of every host of a fleet. */

/** What only the host knows that runs the plugin. All else is in the journal, which every host has. */
type AskedElsewhere =
  | 'list'
  | 'get'
  | 'connections'
  | 'logs'
  | 'objects'
  | 'sensors'
  | 'controls'
  | 'controlType'
  | 'exposures'
  | 'hooks'
  | 'findHook'
  | 'checkConfig'

/** A `Lifecycle` some of whose answers may have to be fetched from another host. */
export type LifecycleFacade = Omit<Lifecycle, AskedElsewhere> & {
  [Question in AskedElsewhere]: (
    ...given: Parameters<Lifecycle[Question]>
  ) => ReturnType<Lifecycle[Question]> | Promise<ReturnType<Lifecycle[Question]>>
} & {
  /**
   * In a fleet: resolves when this host knows what the others had written down when it was called, or after a moment. Answers
   * whether it knows. Absent: nobody else writes.
   */
  catchUp?(): Promise<boolean>
}

/** What is said of names before anything is done, and may be another host's news: what was installed there, or uninstalled. */
const problemsOfNames: ReadonlySet<ProblemCode> = new Set([
  ...(['plugin_not_installed', 'already_installed', 'ambiguous_id', 'not_found'] as const),
  ...(['repository_unknown', 'plugin_not_in_repository', 'ambiguous_repository'] as const),
])

/** Of these names everything is in what all hosts share. */
const sharedNames: ReadonlySet<ProblemCode> = new Set(
  [...problemsOfNames].filter((code) => code !== 'not_found'),
)

/**
 * Runs `ask`, and once more where it is refused for a name and another host has written something into the journal meanwhile: what one
 * host of a fleet has answered is so at the next one that is asked. A command is not refused for a name that may be there: throws `fleet_unreachable`.
 */
export async function retryAfterCatchUp<T>(
  lifecycle: Pick<LifecycleFacade, 'catchUp' | 'lastSeq'>,
  ask: () => T | Promise<T>,
  { isCommand }: { isCommand: boolean },
): Promise<T> {
  // What is written down meanwhile is this host's own.
  if (lifecycle.catchUp === undefined) return ask()
  const { lastSeq } = lifecycle
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof Problem) || !problemsOfNames.has(error.code)) throw error
    const isKnown = await lifecycle.catchUp()
    if (!isKnown && isCommand && sharedNames.has(error.code)) throw unknownNow(error)
    if (lifecycle.lastSeq === lastSeq) throw error
    return ask()
  }
}

function unknownNow(refusal: Problem): Problem {
  return new Problem(
    'fleet_unreachable',
    "This host cannot take in now what others have done, as the fleet's store does not answer it or its own disk is full, and goes by what it " +
      `knew last, so nothing was changed: ${refusal.message} Ask another host, or try again.`,
    { cause: refusal },
  )
}

/** The hosts that work as one. Everything throws `Problem`s. */
export interface Fleet {
  /** Those that live. */
  hosts(): FleetHost[]
  /** Gives its plugins to the others; resolves when it is empty. Throws `host_unknown`, `no_other_host`. */
  drain(id: string, context: CommandContext): Promise<FleetHost>
  /** Throws `host_unknown`. */
  endDrain(id: string, context: CommandContext): Promise<FleetHost>
  /** Replaces where a plugin may run. */
  place(id: string, placement: Placement, context: CommandContext): Promise<Plugin>
}
