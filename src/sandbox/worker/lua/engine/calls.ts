/**
 * Counts calls of functions that are written in JavaScript. Lua's own hook counts instructions, and such a call is one of
 * them, whether it takes a tenth of a microsecond or ten milliseconds.
 */
import { calls } from './core.ts'
import type { LuaState } from './fengari-types.ts'

/** Calls between two looks at the clock, where they are short: it costs as much as a short one. */
export const mostCallsPerLook = 16

let callsLeft = mostCallsPerLook
const { luaD_precall: begin, luaD_call: call } = calls

/** A call has ended. */
function countCall(L: LuaState): void {
  callsLeft -= 1
  if (callsLeft <= 0) callsLeft = L.l_G.afterCalls?.(L) ?? mostCallsPerLook
}

/** One has ended by an error, which nothing here sees. It may have taken long, as a pattern that tries everything, and may come again at once. */
export function countFailedCall(L: LuaState): void {
  callsLeft = 0
  countCall(L)
}

calls.luaD_precall = (L, slot, results) => {
  const isDone = begin(L, slot, results)
  if (isDone) countCall(L)
  return isDone
}
// For metamethods and iterators.
calls.luaD_call = (L, slot, results) => {
  call(L, slot, results)
  countCall(L)
}
