import assert from 'node:assert/strict'
import { type Clock, systemClock } from '../../src/base/time/clock.ts'
import type { Logger } from '../../src/base/log/log.ts'
import { reconcileDelay } from '../../src/lifecycle/supervision/reconciler.ts'

/** A host's clock and log, with which what is left undone for a plugin is done when the test says so. */
export interface HeldReconciler {
  clock: Clock
  logger: Logger
  /** Looks again at all that was left undone until now. */
  goOn(): void
  /** Resolves when the log has these words. */
  says(words: string): Promise<void>
}

export function holdReconciler(): HeldReconciler {
  const held = new Set<() => void>()
  const clock: Clock = {
    ...systemClock,
    schedule(milliseconds, callback) {
      if (milliseconds < reconcileDelay || milliseconds > 2 * reconcileDelay)
        return systemClock.schedule(milliseconds, callback)
      held.add(callback)
      return { cancel: () => void held.delete(callback) }
    },
  }
  const messages: string[] = []
  let heard = (): void => undefined
  const note = (message: string): void => {
    messages.push(message)
    heard()
  }
  return {
    clock,
    logger: { debug: () => undefined, info: note, warn: note, error: note },
    goOn() {
      assert.ok(held.size > 0, 'it is looked at again')
      for (const callback of [...held]) {
        held.delete(callback)
        callback()
      }
    },
    async says(words) {
      while (!messages.includes(words)) await new Promise<void>((resolve) => (heard = resolve))
    },
  }
}
