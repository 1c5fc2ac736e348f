import { lua } from '../engine.ts'
import { replaceException } from '../error-value.ts'
import type { LuaState } from '../fengari-types.ts'
import { fieldFunction, setFunctions } from '../raw-function.ts'
import type { LibraryContext } from './libraries.ts'

/** `resume` ends a coroutine's error like a `pcall`, so an interrupt has to pass it too. */
export function changeCoroutine(L: LuaState, { interrupt }: LibraryContext): void {
  const resume = fieldFunction(L, 'resume')
  setFunctions(L, {
    resume(state) {
      const results = resume(state)
      interrupt.rethrow(state)
      if (results === 2 && !lua.lua_toboolean(state, -2)) replaceException(state)
      return results
    },
  })
}
