import { Problem } from '../../../base/problem.ts'
import type { Whereabouts } from '../../../lifecycle/ownership.ts'

/** Milliseconds that a plugin which just moves is waited for, before that is refused. */
export const moveWait = 2_000

/** What is refused while the store is known to take nothing of this host: it may be full as well as away. */
export function storeAway(): Problem {
  return new Problem(
    'fleet_unreachable',
    "The fleet's store has taken no sign of life of this host (it cannot be reached, or takes nothing), so nothing can be changed; the log " +
      'says why. Ask another host, or try again.',
  )
}

/** Of a plugin that nobody has just now. */
export function moving(id: string): Problem {
  return new Problem('plugin_moving', `No host has ${id} just now; try again in a second.`)
}

/** The same for a change: where no host may run the plugin, to try again is of no use. */
export function withoutHolder(id: string, { absence }: Whereabouts): Problem {
  if (absence?.code !== 'no_host') return moving(id)
  return new Problem(
    'no_other_host',
    `Nothing of ${id} was changed: only the host that has it changes it, and it has none. ${absence.message}`,
  )
}

/** The refusal of a change, of a plugin that is about to move and has not for long: with why, where that is known. */
export function stillMoving(refusal: unknown, { absence }: Whereabouts): unknown {
  return absence === null ? refusal : new Problem('plugin_moving', `Nothing was changed. ${absence.message}`)
}
