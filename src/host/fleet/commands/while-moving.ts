import type { Clock } from '../../../base/time/clock.ts'
import type { Ownership } from '../../../lifecycle/ownership.ts'
import { moveWait, stillMoving } from './fleet-problems.ts'

/** Milliseconds after which it is tried again, although nothing is known to have changed. */
const movePause = 100

export interface WhileMovingParts {
  clock: Clock
  ownership: Pick<Ownership, 'whereabouts'>
  /** Resolves when something about hosts and leases has changed, or at that time of the monotonic clock. */
  changeUntil(deadline: number): Promise<void>
}

/**
 * Tries until the plugin has moved. `isMoving`: this was refused because it moves, and nothing was done. Throws the refusal when it
 * takes too long.
 */
export type WhileMoving = <T>(
  id: string,
  attempt: () => Promise<T>,
  isMoving: (error: unknown) => boolean,
) => Promise<T>

export function createWhileMoving({ clock, ownership, changeUntil }: WhileMovingParts): WhileMoving {
  return async (id, attempt, isMoving) => {
    let deadline: number | undefined
    for (;;) {
      try {
        return await attempt()
      } catch (error) {
        if (!isMoving(error)) throw error
        // Counted from the first word of it: the store may have been away for a moment before.
        deadline ??= clock.monotonic() + moveWait
        if (clock.monotonic() >= deadline) throw stillMoving(error, ownership.whereabouts(id))
        // What moves may end in its worker, of which nothing is heard before the event loop goes round.
        await changeUntil(Math.min(deadline, clock.monotonic() + movePause))
      }
    }
  }
}
