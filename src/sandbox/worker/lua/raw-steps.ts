import { lua } from './engine/engine.ts'
import type { LuaState, RawFunction } from './engine/fengari-types.ts'
import { guarded } from './raw-function.ts'

/** Wanted by a library function on its way: a call with so many arguments, for one result, or only a pause. */
export type RawStep = { call: number } | 'pause'

/** What a library function does; the function to call, and its arguments, lie on top of the stack. */
export type RawSteps = Generator<RawStep, number, undefined>

/** Makes a function of Lua of steps, between which its thread can be set aside, or stopped. */
export function stepwise(begin: (L: LuaState) => RawSteps): RawFunction {
  function proceed(L: LuaState, steps: RawSteps): number {
    const continuation = guarded((state) => proceed(state, steps))
    for (;;) {
      const { done, value } = steps.next()
      if (done === true) return value
      if (value !== 'pause') lua.lua_callk(L, value.call, 1, 0, continuation)
      else L.l_G.pause?.(L, continuation)
    }
  }
  return (L) => proceed(L, begin(L))
}

/**
 * The same for work without calls, which takes no generator: does it piece by piece, until one answers how many results
 * there are on the stack.
 */
export function inPieces(L: LuaState, piece: () => number | undefined): number {
  // Most are done with one, and no work for more functions.
  return piece() ?? goOn(L, piece)
}

function goOn(L: LuaState, piece: () => number | undefined): number {
  const proceed: RawFunction = guarded((state) => {
    for (;;) {
      const results = piece()
      if (results !== undefined) return results
      state.l_G.pause?.(state, proceed)
    }
  })
  return proceed(L)
}
