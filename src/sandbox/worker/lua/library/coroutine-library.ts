import { toLatin1 } from '../bytes.ts'
import { auxiliary, lua } from '../engine.ts'
import { replaceException } from '../error-value.ts'
import type { LuaState } from '../fengari-types.ts'
import { fieldFunction, setFunctions } from '../raw-function.ts'
import type { LibraryContext } from './libraries.ts'

/**
 * `resume` ends a coroutine's error like a `pcall`, so an interrupt has to pass it too; and the runtime is told
 * which thread runs.
 */
export function changeCoroutine(L: LuaState, { interrupt, threads }: LibraryContext): void {
  const resumeThread = fieldFunction(L, 'resume')
  const create = fieldFunction(L, 'create')

  /** Resumes the thread that is the first argument; answers the results, true or false before them. */
  function resume(state: LuaState): number {
    const thread = lua.lua_tothread(state, 1)
    if (thread === null) return resumeThread(state)
    threads.enter(thread)
    try {
      return resumeThread(state)
    } finally {
      threads.enter(state)
      interrupt.rethrow(state)
    }
  }

  setFunctions(L, {
    resume(state) {
      const results = resume(state)
      if (!lua.lua_toboolean(state, -results)) replaceException(state)
      return results
    },
    wrap(state) {
      create(state)
      const slot = state.stack[state.top - 1]
      if (slot === undefined) throw new Error('no thread was made')
      const thread = { type: slot.type, value: slot.value }
      lua.lua_pushcfunction(state, (caller) => {
        lua.lua_pushnil(caller)
        const top = caller.stack[caller.top - 1]
        if (top !== undefined) Object.assign(top, thread)
        lua.lua_insert(caller, 1)
        const results = resume(caller)
        if (lua.lua_toboolean(caller, -results)) return results - 1
        replaceException(caller)
        threads.failed(thread.value as LuaState)
        addPosition(caller)
        return lua.lua_error(caller)
      })
      return 1
    },
  })
}

/** Says where the coroutine was resumed, unless the message says where in the coroutine it was raised. */
function addPosition(L: LuaState): void {
  const message = lua.lua_type(L, -1) === lua.LUA_TSTRING ? lua.lua_tostring(L, -1) : null
  if (message === null || /^[^\n:]+:\d+: /.test(toLatin1(message))) return
  auxiliary.luaL_where(L, 1)
  lua.lua_insert(L, -2)
  lua.lua_concat(L, 2)
}
