import type { Clock } from '../../../base/time/clock.ts'

/**
 * Milliseconds that one entry may wait for others in all; what is more counts as its own time. So a plugin that
 * does nothing but wait, again and again, is stopped too.
 */
export const waitingLimit = 30_000

/**
 * Milliseconds from one question of Lua's count hook, which asks all the time, to the next that count in any case. More than that
 * counts as far as the process had a processor meanwhile: it may have stood still, paused with its container or virtual machine.
 */
export const longestStep = 1_000
/** Milliseconds after which it is asked anew how much of a processor the process has had. */
const processorInterval = 250

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
  excuse<T>(task: () => T): T
}

export function createTimeBudget({
  monotonic,
  processorTime,
}: Pick<Clock, 'monotonic' | 'processorTime'>): TimeBudget {
  let current: TimeAccount | undefined
  /** Until when the present account has been counted. */
  let since = 0

  /** What the process had had of a processor when that was asked last. */
  let processor = { at: Number.NEGATIVE_INFINITY, had: 0 }

  function settle(): void {
    const now = monotonic()
    const step = now - since
    if (current !== undefined) current.spent += step > longestStep ? worked(step) : step
    since = now
    if (now - processor.at >= processorInterval) processor = { at: now, had: processorTime() }
  }

  function worked(step: number): number {
    return Math.min(step, Math.max(longestStep, processorTime() - processor.had))
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
      if (current === undefined) return undefined
      settle()
      if (current.spent < current.allowed && since < current.until) return undefined
      if (current.hurried) return 'stopped, because the plugin is being unloaded'
      current.exceeded = true
      return `stopped, because it ran for longer than ${current.allowed / 1000} s without a pause`
    },
    excuse(task) {
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
