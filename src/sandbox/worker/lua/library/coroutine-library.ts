import { toBytes, toLatin1 } from '../text/bytes.ts'
import { auxiliary, lua } from '../engine/engine.ts'
import { replaceException } from '../error-value.ts'
import type { LuaState, RawFunction } from '../engine/fengari-types.ts'
import { guarded, LuaFailure } from '../raw-function.ts'
import type { LibraryContext } from './libraries.ts'

/**
 * `resume` and `wrap` end a coroutine's error like a `pcall`, so an interrupt has to pass them too; the runtime is told
 * which thread runs; and a coroutine that was set aside takes along the one that has resumed it. `yield`, `running`
 * and `isyieldable` do not take the threads on which the host enters Lua for coroutines.
 */
export function coroutineFunctions({
  interrupt,
  threads,
  preemption,
}: LibraryContext): Record<string, RawFunction> {
  /** What becomes of the results, which are on top of `state`: their number, or -1 with an error. */
  type Finish = (state: LuaState, count: number) => number

  function fail(state: LuaState, message: string, finish: Finish): number {
    lua.lua_pushstring(state, toBytes(message))
    return finish(state, -1)
  }

  /** Resumes `thread` with the arguments on top of the stack. */
  function resume(state: LuaState, thread: LuaState, argumentCount: number, finish: Finish): number {
    if (!lua.lua_checkstack(thread, argumentCount)) return fail(state, 'too many arguments to resume', finish)
    if (lua.lua_status(thread) === lua.LUA_OK && lua.lua_gettop(thread) === 0)
      return fail(state, 'cannot resume dead coroutine', finish)
    lua.lua_xmove(state, thread, argumentCount)
    return proceed(state, thread, argumentCount, finish)
  }

  function proceed(state: LuaState, thread: LuaState, argumentCount: number, finish: Finish): number {
    const run = (): number => lua.lua_resume(thread, state, argumentCount)
    let status: number
    threads.enter(thread)
    try {
      status = preemption.canSuspend(state) ? run() : preemption.hold(run)
    } finally {
      threads.enter(state)
    }
    if (status === lua.LUA_YIELD && preemption.pending)
      return preemption.propagate(state, () => proceed(state, thread, 0, finish))
    interrupt.rethrow(state)
    if (status !== lua.LUA_OK && status !== lua.LUA_YIELD) {
      lua.lua_xmove(thread, state, 1)
      return finish(state, -1)
    }
    const count = lua.lua_gettop(thread)
    if (!lua.lua_checkstack(state, count + 1)) {
      lua.lua_pop(thread, count)
      return fail(state, 'too many results to resume', finish)
    }
    lua.lua_xmove(thread, state, count)
    return finish(state, count)
  }

  const finishResume: Finish = (state, count) => {
    if (count < 0) replaceException(state)
    const pushed = count < 0 ? 1 : count
    lua.lua_pushboolean(state, count >= 0)
    lua.lua_insert(state, -(pushed + 1))
    return pushed + 1
  }

  function wrapped(thread: LuaState): RawFunction {
    const finish: Finish = (state, count) => {
      if (count >= 0) return count
      replaceException(state)
      threads.failed(thread)
      addPosition(state)
      return lua.lua_error(state)
    }
    return (state) => resume(state, thread, lua.lua_gettop(state), finish)
  }

  return {
    resume(state) {
      const thread = lua.lua_tothread(state, 1)
      if (thread === null) throw new LuaFailure("bad argument #1 to 'resume' (thread expected)")
      return resume(state, thread, lua.lua_gettop(state) - 1, finishResume)
    },
    wrap(state) {
      auxiliary.luaL_checktype(state, 1, lua.LUA_TFUNCTION)
      const thread = lua.lua_newthread(state)
      lua.lua_pushvalue(state, 1)
      lua.lua_xmove(state, thread, 1)
      lua.lua_pushcfunction(state, guarded(wrapped(thread)))
      return 1
    },
    yield(state) {
      if (threads.isEntry(state)) throw new LuaFailure('attempt to yield from outside a coroutine')
      return lua.lua_yield(state, lua.lua_gettop(state))
    },
    isyieldable(state) {
      lua.lua_pushboolean(state, !threads.isEntry(state) && lua.lua_isyieldable(state))
      return 1
    },
    running(state) {
      lua.lua_pushthread(state)
      lua.lua_pushboolean(state, threads.isEntry(state))
      return 2
    },
  }
}

/** Says where the coroutine was resumed, unless the message says where in the coroutine it was raised. */
function addPosition(L: LuaState): void {
  const message = lua.lua_type(L, -1) === lua.LUA_TSTRING ? lua.lua_tostring(L, -1) : null
  if (message === null || /^[^\n:]+:\d+: /.test(toLatin1(message))) return
  auxiliary.luaL_where(L, 1)
  lua.lua_insert(L, -2)
  lua.lua_concat(L, 2)
}
