/**
 * Counts calls of functions that are written in JavaScript. Lua's own hook counts instructions, and such a call is one of
 * them, whether it takes a tenth of a microsecond or ten milliseconds.
 */
import { calls } from './core.ts'
import type { LuaState } from './fengari-types.ts'

/** Calls between two looks at the clock, where they are short: it costs as much as a short one. */
export const mostCallsPerCheck = 16

/** Values of `...`, after which Lua's hook asks before the next instruction: one that has them all takes as long as thousands. */
const valuesPerQuestion = 5_000

let callsLeft = mostCallsPerCheck
let values = 0
const { luaD_precall: begin, luaD_call: call, luaD_checkstack: checkStack } = calls

/** A call has ended. */
function countCall(L: LuaState): void {
  callsLeft -= 1
  if (callsLeft <= 0) callsLeft = L.l_G.afterCalls?.(L) ?? mostCallsPerCheck
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
// By the machine only for all of `...`.
calls.luaD_checkstack = (L, slots) => {
  checkStack(L, slots)
  values += slots
  if (values < valuesPerQuestion) return
  values = 0
  L.hookcount = 1
}
