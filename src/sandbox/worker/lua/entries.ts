import { toUnicode } from './text/bytes.ts'
import { lua } from './engine/engine.ts'
import { protectedText } from './error-value.ts'
import type { LuaState, RawFunction } from './engine/fengari-types.ts'
import { type Execution, spareSlots } from './host-functions.ts'
import type { Interrupt } from './interrupt.ts'
import { type Activation, LuaError, type LuaFunction, type LuaRuntime, type LuaValue } from './lua-value.ts'
import { numberText } from './text/number-text.ts'
import type { Preemption } from './preemption.ts'
import { joinTracebacks, type Traceback } from './traceback.ts'

/** The ways from JavaScript into a Lua state: on a thread of their own, or on the one that has called JavaScript. */
export interface Entries extends Pick<LuaRuntime, 'call' | 'activate' | 'toText'> {
  /** All threads of entries, also the ones in use: for Lua none of them is a coroutine. */
  readonly entryThreads: WeakSet<LuaState>
}

export interface EntriesParts {
  interrupt: Interrupt
  preemption: Preemption
  execution: Execution
  push(L: LuaState, value: LuaValue): void
  /** All that is on the stack from this index on. */
  take(L: LuaState, first: number): LuaValue[]
  /** The error value at the top of the stack as an exception. */
  luaError(L: LuaState, found: Traceback | undefined): LuaError
  messageHandler: RawFunction
  tracebackOf(L: LuaState, level: number): Traceback
}

/** `main`: runs nothing; the threads that do are made from it. */
export function createEntries(main: LuaState, parts: EntriesParts): Entries {
  const { interrupt, preemption, execution, push, take, luaError, messageHandler, tracebackOf } = parts
  /** Threads for entries from JavaScript that are free. */
  const free: LuaState[] = []
  const entryThreads = new WeakSet<LuaState>()

  /** A thread on which nothing is. It has to be given back, unless it has died. */
  function takeThread(): LuaState {
    const known = free.pop()
    if (known !== undefined) return known
    const thread = lua.lua_newthread(main)
    lua.lua_pop(main, 1)
    entryThreads.add(thread)
    return thread
  }

  /** Runs `task` on the thread that has called JavaScript, or on a free one. What it leaves above `top` is taken off. */
  function onThread<T>(slots: number, task: (L: LuaState, top: number) => T): T {
    const outer = execution.thread
    const L = outer ?? takeThread()
    const top = lua.lua_gettop(L)
    if (!lua.lua_checkstack(L, slots + spareSlots)) throw new LuaError('stack overflow')
    interrupt.enter()
    execution.thread = L
    try {
      return task(L, top)
    } finally {
      execution.thread = outer
      lua.lua_settop(L, top)
      interrupt.leave()
      if (outer === undefined) free.push(L)
    }
  }

  function call(callee: LuaFunction, ...values: LuaValue[]): LuaValue[] {
    return onThread(values.length, (L, top) => {
      lua.lua_pushcfunction(L, messageHandler)
      push(L, callee)
      for (const value of values) push(L, value)
      execution.trace = undefined
      execution.innerTrace = undefined
      const status = lua.lua_pcall(L, values.length, lua.LUA_MULTRET, top + 1)
      if (status !== lua.LUA_OK) throw luaError(L, execution.trace)
      return take(L, top + 2)
    })
  }

  /** The error with which a thread has died. It is not used again. */
  function deathOf(L: LuaState): LuaError {
    const other = takeThread()
    lua.lua_xmove(L, other, 1)
    // Its stack ends at the error, and to look at what is on it takes some slots.
    lua.lua_checkstack(L, spareSlots)
    const found = execution.trace ?? joinTracebacks(execution.innerTrace, tracebackOf(L, 0))
    execution.thread = other
    try {
      return luaError(other, found)
    } finally {
      lua.lua_settop(other, 0)
      free.push(other)
    }
  }

  function activate(callee: LuaFunction, ...values: LuaValue[]): Activation {
    const L = takeThread()
    const scope = { pending: undefined, depth: 1 }
    let argumentCount = values.length
    if (!lua.lua_checkstack(L, argumentCount + spareSlots)) throw new LuaError('stack overflow')
    push(L, callee)
    for (const value of values) push(L, value)

    function resume(): ReturnType<Activation['resume']> {
      const outer = execution.thread
      execution.thread = L
      execution.trace = undefined
      execution.innerTrace = undefined
      try {
        const status = lua.lua_resume(L, null, argumentCount)
        argumentCount = 0
        if (status === lua.LUA_YIELD) return { done: false, suspended: preemption.take() ?? 'slice' }
        if (status !== lua.LUA_OK) throw deathOf(L)
        const results = take(L, 1)
        lua.lua_settop(L, 0)
        free.push(L)
        return { done: true, values: results }
      } finally {
        execution.thread = outer
      }
    }
    return { resume: () => interrupt.within(scope, resume) }
  }

  function toText(value: LuaValue): string {
    if (typeof value === 'number') return numberText(value)
    if (value instanceof Uint8Array) return toUnicode(value)
    if (typeof value !== 'object') return value === undefined ? 'nil' : String(value)
    return onThread(0, (L) => {
      push(L, value)
      return protectedText(L) ?? value.kind
    })
  }

  return { entryThreads, call, activate, toText }
}
