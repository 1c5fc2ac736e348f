/**
 * How long Lua may run before it is stopped. The outermost entry sets the limit; what it calls on the way,
 * also through the host and back into Lua, shares it.
 */
export interface TimeBudget {
  /** Runs `task` with so many milliseconds, or with what is left when it is called from within another. */
  run<T>(milliseconds: number, task: () => T): T
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
  return {
    run(milliseconds, task) {
      if (end !== undefined) return task()
      exceeded = false
      allowed = milliseconds
      end = monotonic() + milliseconds
      try {
        return task()
      } finally {
        end = undefined
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
        if (end !== undefined) end += monotonic() - begun
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
