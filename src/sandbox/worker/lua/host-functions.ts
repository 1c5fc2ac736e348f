import { toBytes } from './text/bytes.ts'
import { lua, objects, states, tags } from './engine/engine.ts'
import type { EntriesParts } from './entries.ts'
import { exceptionText } from './error-value.ts'
import type { LuaState, RawFunction } from './engine/fengari-types.ts'
import type { References } from './lua-reference.ts'
import {
  type HostFunction,
  isSteps,
  LuaError,
  type LuaFunction,
  type LuaRuntime,
  type LuaValue,
  type Results,
} from './lua-value.ts'
import { raise } from './raw-function.ts'
import { advanceWith, type LuaCall, type Step, type Steps, type Waiting } from './steps.ts'
import type { Traceback } from './traceback.ts'

/** What runs in a Lua runtime just now. */
export interface Execution {
  /** Calls from within a host function belong to the coroutine that called it. */
  thread: LuaState | undefined
  /** Where the error was raised that is on its way. */
  trace: Traceback | undefined
  /** Of a coroutine whose error is on its way through the thread that resumed it. */
  innerTrace: Traceback | undefined
}

export interface HostFunctionParts extends Omit<EntriesParts, 'tracebackOf'> {
  references: References
  /** Runs `task`, which others do for this plugin, off its clock. */
  runUncharged(task: () => void): void
  /** What to wait for before Lua goes on. */
  pause: (() => Waiting | undefined) | undefined
  /** What it is called in a traceback. */
  named(raw: RawFunction, name: string): void
}

/** Slots on the Lua stack besides the arguments of a call. */
export const spareSlots = 20
/** Functions that have called each other in JavaScript: with more of them on the stack others do not run on top of it. */
const shallow = 8

/** Makes functions of the host callable from Lua. */
export function createHostFunctions(parts: HostFunctionParts): Pick<LuaRuntime, 'wrap'> {
  const { references, interrupt, preemption, execution, push, take, luaError, messageHandler } = parts
  const { runUncharged, pause } = parts

  /** Raises what a host function has thrown. */
  function raiseThrown(L: LuaState, error: unknown): never {
    interrupt.rethrow(L)
    // An error that came out of Lua says already where it happened.
    if (!(error instanceof LuaError)) return raise(L, exceptionText(error))
    lua.lua_pushstring(L, toBytes(error.message))
    return lua.lua_error(L)
  }

  function pushResults(L: LuaState, results: Results): number {
    interrupt.rethrow(L)
    const list = Array.isArray(results) ? (results as readonly LuaValue[]) : [results as LuaValue]
    if (!lua.lua_checkstack(L, list.length + spareSlots)) return raise(L, 'too many results')
    try {
      for (const value of list) push(L, value)
    } catch (error) {
      return raise(L, exceptionText(error))
    }
    return list.length
  }

  function wrap(name: string, implementation: HostFunction): LuaFunction {
    const raw: RawFunction = (L) => {
      const outer = execution.thread
      execution.thread = L
      let answer: ReturnType<HostFunction>
      try {
        answer = implementation(...take(L, 1))
      } catch (error) {
        return raiseThrown(L, error)
      } finally {
        execution.thread = outer
      }
      if (isSteps(answer)) {
        const steps = answer
        lua.lua_settop(L, 0)
        return proceed(L, steps, () => steps.next())
      }
      const count = pushResults(L, answer)
      const waiting = pause?.()
      if (waiting === undefined || !preemption.canSuspend(L)) return count
      return preemption.suspendFor(L, waiting, () => count)
    }
    parts.named(raw, name)
    return references.fromTagged(new objects.TValue(tags.jsFunction, raw)) as LuaFunction
  }

  type Advance = () => IteratorResult<Step, Results>

  /** Goes on with a host function's steps to its end, or until its thread is set aside. */
  function proceed(L: LuaState, steps: Steps<Results>, first: Advance): number {
    let advance = first
    for (;;) {
      const step = oneStep(L, advance)
      if (step.done === true) return pushResults(L, step.value)
      const { value } = step
      if (value.kind === 'call') advance = called(L, steps, value)
      else if (value.kind === 'pause') {
        advance = () => steps.next()
        interruptBetween(L, steps)
        if (preemption.due(L)) return preemption.suspendFor(L, 'slice', () => proceed(L, steps, advance))
      } else if (preemption.canSuspend(L)) {
        const waiting = value.begin()
        if (waiting.start !== undefined && L.nCcalls <= shallow) startAtOnce(waiting)
        advance = () => advanceWith(steps, waiting.take)
        if (!waiting.settled) return preemption.suspendFor(L, waiting, () => proceed(L, steps, advance))
        // To call others takes few instructions, after which nobody would ask for long.
        if (preemption.due(L)) {
          interruptBetween(L, steps)
          return preemption.suspendFor(L, 'slice', () => proceed(L, steps, advance))
        }
      } else advance = () => advanceWith(steps, value.now)
    }
  }

  /**
   * Most of what others in this worker do for a plugin has been done before its thread could be set aside. The rest goes
   * on by itself, and the thread is set aside then.
   */
  function startAtOnce(waiting: Waiting): void {
    const { start } = waiting
    waiting.start = undefined
    if (start !== undefined) runUncharged(start)
  }

  function interruptBetween(L: LuaState, steps: Steps<Results>): void {
    try {
      interrupt.poll(L)
    } catch (error) {
      steps.return(undefined)
      throw error
    }
  }

  function oneStep(L: LuaState, advance: Advance): ReturnType<Advance> {
    const outer = execution.thread
    execution.thread = L
    try {
      return advance()
    } catch (error) {
      return raiseThrown(L, error)
    } finally {
      execution.thread = outer
    }
  }

  /** Has Lua called; when that is set aside, what is on the stack here is gone, and its continuation goes on. */
  function called(L: LuaState, steps: Steps<Results>, { callee, args }: LuaCall): Advance {
    if (!lua.lua_checkstack(L, args.length + spareSlots)) return raise(L, 'stack overflow')
    lua.lua_pushcfunction(L, messageHandler)
    push(L, callee)
    for (const value of args) push(L, value)
    const finish = (status: number): Advance => {
      const error =
        status === lua.LUA_OK || status === lua.LUA_YIELD ? undefined : luaError(L, execution.trace)
      if (error !== undefined) {
        lua.lua_settop(L, 0)
        return () => {
          // The plugin's error is the caller's to handle, an interrupt is not.
          if (interrupt.pending) steps.return(undefined)
          interrupt.rethrow(L)
          return steps.throw(error)
        }
      }
      const values = take(L, 2)
      lua.lua_settop(L, 0)
      return () => steps.next(values)
    }
    execution.trace = undefined
    execution.innerTrace = undefined
    L.ci.callstatus |= states.CIST_OAH
    const status = lua.lua_pcallk(L, args.length, lua.LUA_MULTRET, 1, 0, (_state, later) =>
      proceed(L, steps, finish(later)),
    )
    return finish(status)
  }

  return { wrap }
}
