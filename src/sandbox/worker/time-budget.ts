/**
 * Milliseconds that one entry may wait for others in all; what is more counts as its own time. So a plugin that
 * does nothing but wait, again and again, is stopped too.
 */
export const waitingLimit = 30_000

/**
 * How long Lua may run before it is stopped. The outermost entry sets the limit; what it calls on the way,
 * also through the host and back into Lua, shares it.
 */
export interface TimeBudget {
  /** Runs `task` with so many milliseconds, or with what is left when it is called from within another. */
  run<T>(milliseconds: number, task: () => T): T
  /** Runs `task` with so many milliseconds of its own: somebody else wants it, while this plugin waits. */
  apart<T>(milliseconds: number, task: () => T): T
  /** Asked by Lua's count hook: why Lua has to stop, or undefined while it may go on. */
  check(): string | undefined
  /** Runs `task` off the clock: waiting for somebody else is not the plugin's work. */
  excuse<T>(task: () => T): T
  /** Whether the present or last outermost entry was stopped. */
  readonly exceeded: boolean
  /** Whether Lua is running now. */
  readonly inside: boolean
}

export function createTimeBudget(monotonic: () => number): TimeBudget {
  let end: number | undefined
  let allowed = 0
  let exceeded = false
  let waited = 0

  function run<T>(milliseconds: number, task: () => T): T {
    if (end !== undefined) return task()
    exceeded = false
    allowed = milliseconds
    waited = 0
    end = monotonic() + milliseconds
    try {
      return task()
    } finally {
      end = undefined
    }
  }

  return {
    run,
    apart(milliseconds, task) {
      const outer = { end, allowed, exceeded, waited }
      end = undefined
      try {
        return run(milliseconds, task)
      } finally {
        ;({ end, allowed, exceeded, waited } = outer)
      }
    },
    check() {
      if (end === undefined || monotonic() < end) return undefined
      exceeded = true
      return `stopped, because it ran for longer than ${allowed / 1000} s without a pause`
    },
    excuse(task) {
      const begun = monotonic()
      try {
        return task()
      } finally {
        const excused = Math.min(monotonic() - begun, waitingLimit - waited)
        waited += excused
        if (end !== undefined) end += excused
      }
    },
    get exceeded() {
      return exceeded
    },
    get inside() {
      return end !== undefined
    },
  }
}
