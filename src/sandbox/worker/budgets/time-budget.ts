import type { Clock } from '../../../base/time/clock.ts'
import { longestStep, type ProcessorShare } from './processor-share.ts'

/**
 * Milliseconds that one entry may wait for others in all; what is more counts as its own time. So a plugin that
 * does nothing but wait, again and again, is stopped too.
 */
export const waitingLimit = 30_000

/** The time of one entry into Lua, with all that it calls on the way, also through the host and back into Lua. */
export interface TimeAccount {
  /** Milliseconds. */
  allowed: number
  /** When it ends whatever it has spent, by the worker's clock that does not jump: somebody waits for it. */
  until: number
  spent: number
  waited: number
  /** It was stopped, because it had no more. */
  exceeded: boolean
  /** Its time was cut short. */
  hurried: boolean
}

export function openAccount(milliseconds: number, until = Number.POSITIVE_INFINITY): TimeAccount {
  return { allowed: milliseconds, until, spent: 0, waited: 0, exceeded: false, hurried: false }
}

/** It has so many milliseconds more at most: the plugin is being unloaded. */
export function hurry(account: TimeAccount, milliseconds: number): void {
  account.hurried = true
  account.allowed = Math.min(account.allowed, account.spent + milliseconds)
}

/** It has waited for somebody else, who has taken so many milliseconds: that is not its own work. */
export function addWait(account: TimeAccount, milliseconds: number): void {
  const excused = Math.min(milliseconds, waitingLimit - account.waited)
  account.waited += excused
  account.spent += milliseconds - excused
}

/** How long Lua may run before it is stopped. */
export interface TimeBudget {
  /** Runs `task` on this account: an entry, or a slice of one. */
  run<T>(account: TimeAccount, task: () => T): T
  /** Asked by Lua's count hook: why Lua has to stop, or undefined while it may go on. */
  check(): string | undefined
  /** Runs `task`, which waits, off the clock. */
  runUncharged<T>(task: () => T): T
}

/** `share`: one for all that run in this thread. `working`: called whenever Lua asks. */
export function createTimeBudget(
  { monotonic }: Pick<Clock, 'monotonic'>,
  share: ProcessorShare,
  working?: () => void,
): TimeBudget {
  let current: TimeAccount | undefined
  /** Until when the present account has been counted. */
  let since = 0

  function settle(): void {
    const now = monotonic()
    if (current !== undefined) {
      const step = now - since
      const count = share.counted(step)
      current.spent += count
      // Whoever waits for its end stood still as well.
      if (step > longestStep) current.until += step - Math.max(count, longestStep)
    }
    since = now
  }

  return {
    run(account, task) {
      const outer = current
      settle()
      current = account
      try {
        return task()
      } finally {
        settle()
        current = outer
      }
    },
    check() {
      working?.()
      if (current === undefined) return undefined
      settle()
      if (current.spent < current.allowed && since < current.until) return undefined
      if (current.hurried) return 'stopped, because the plugin is being unloaded'
      current.exceeded = true
      return `stopped, because it ran for longer than ${current.allowed / 1000} s without a pause`
    },
    runUncharged(task) {
      settle()
      const begun = since
      const account = current
      current = undefined
      try {
        return task()
      } finally {
        current = account
        since = monotonic()
        if (account !== undefined) addWait(account, since - begun)
      }
    },
  }
}
