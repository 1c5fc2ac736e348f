import {
  type HostFunction,
  isSteps,
  type LuaFunction,
  type LuaRuntime,
  type LuaValue,
} from '../lua/lua-value.ts'
import type { Steps } from '../lua/steps.ts'

/** Share of a limit that others may use up through an instance; the rest stays for the plugin itself. */
const foreignCallerShare = 0.5

/** Bytes that others may have copied or encoded through an instance in one call: half of the largest message. */
export const foreignCallerBytes = 512 * 1024
/** Values of a JSON text that is read for them. */
export const foreignCallerJsonValues = 50_000

/** The full id of the plugin that has called; undefined when the plugin itself has. */
export type ForeignCaller = string | undefined
/** A method of the host that wants to know who calls it. */
export type CallerAwareFunction = (
  foreignCaller: ForeignCaller,
  ...args: LuaValue[]
) => ReturnType<HostFunction>

/** Who calls a method of the host on this plugin's instance: the plugin itself, or another one from outside. */
export interface ForeignCallers {
  method(name: string, implementation: CallerAwareFunction): LuaFunction
  /** Whether it was made here: its first argument is the object, or may be. */
  isMethod(callee: LuaFunction): boolean
  /** Does `call`, which calls `callee` for another plugin. What the callee then calls is its own doing. */
  admit<T>(plugin: string, callee: LuaFunction, call: Steps<T>): Steps<T>
  /** For whom the method of the host that runs now works; what is written in Lua works for its own plugin. */
  readonly current: ForeignCaller
}

export function createForeignCallers(runtime: LuaRuntime): ForeignCallers {
  const methods = new WeakSet<LuaFunction>()
  let expected: ForeignCaller
  let current: ForeignCaller
  /** Does `task` on behalf of this one. */
  function as<T>(foreignCaller: ForeignCaller, task: () => T): T {
    const before = current
    current = foreignCaller
    try {
      return task()
    } finally {
      current = before
    }
  }

  /** The same in steps; what Lua does between two of them is not on anybody's behalf. */
  function* inSteps<T>(foreignCaller: ForeignCaller, steps: Steps<T>): Steps<T> {
    let advance = (): ReturnType<typeof steps.next> => steps.next()
    try {
      for (;;) {
        const step = as(foreignCaller, advance)
        if (step.done === true) return step.value
        try {
          const answer = yield step.value
          advance = () => steps.next(answer)
        } catch (error) {
          advance = () => steps.throw(error)
        }
      }
    } finally {
      // It may have been interrupted.
      steps.return(undefined as T)
    }
  }

  return {
    get current() {
      return current
    },
    method(name, implementation) {
      const method = runtime.wrap(name, (...args) => {
        const foreignCaller = expected
        expected = undefined
        const answer = as(foreignCaller, () => implementation(foreignCaller, ...args))
        return isSteps(answer) ? inSteps(foreignCaller, answer) : answer
      })
      methods.add(method)
      return method
    },
    isMethod: (callee) => methods.has(callee),
    *admit(plugin, callee, call) {
      // One that does not ask would leave it to the next that does.
      if (!methods.has(callee)) return yield* call
      expected = plugin
      try {
        return yield* call
      } finally {
        expected = undefined
      }
    },
  }
}

/** Bytes that a copy or a text may take that is made for this one. */
export function byteLimitFor(foreignCaller: ForeignCaller, limit: number): number {
  return foreignCaller === undefined ? limit : Math.min(limit, foreignCallerBytes)
}

/** How many there may be at most when this one adds another. */
export function countLimitFor(foreignCaller: ForeignCaller, limit: number): number {
  return foreignCaller === undefined ? limit : Math.floor(limit * foreignCallerShare)
}
