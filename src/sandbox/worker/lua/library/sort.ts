import { auxiliary, basicType, lua, tags } from '../engine/engine.ts'
import type { LuaState, LuaString, TaggedValue } from '../engine/fengari-types.ts'
import { LuaFailure } from '../raw-function.ts'
import type { RawStep, RawSteps } from '../raw-steps.ts'
import { copyOf, elementsPerPause, listAt, mostElements, pushValue } from './list-access.ts'

/** Bytes of a text that take as long to compare as a short one. */
const bytesPerElement = 1_000

/**
 * `table.sort`. fengari's calls the comparison function from its own stack, on which nothing can be set aside. This
 * one merges, so a comparison function that contradicts itself gives some order, and never an error.
 */
export function* sort(L: LuaState): RawSteps {
  auxiliary.luaL_checktype(L, 1, lua.LUA_TTABLE)
  const count = auxiliary.luaL_len(L, 1)
  if (count < 2) return 0
  if (count > mostElements) throw new LuaFailure("bad argument #1 to 'sort' (array too big)")
  if (!lua.lua_isnoneornil(L, 2)) auxiliary.luaL_checktype(L, 2, lua.LUA_TFUNCTION)
  lua.lua_settop(L, 2)
  const isLess = lua.lua_isnoneornil(L, 2) ? byNature(L) : byFunction(L)
  const list = listAt(L, 1)
  const before: TaggedValue[] = []
  for (let index = 1; index <= count; index += 1) {
    before.push(copyOf(list.get(index)))
    if (index % list.perPause === 0) yield 'pause'
  }
  const after = yield* merged(before, isLess)
  for (const [index, value] of after.entries()) {
    // What stays where it is is not written: a table may tell somebody of each write.
    if (value !== before[index]) list.set(index + 1, value)
    if ((index + 1) % list.perPause === 0) yield 'pause'
  }
  return 0
}

type Compare = (first: TaggedValue, second: TaggedValue) => Generator<RawStep, boolean, undefined>

/** Merges runs of twice the length each time, from one buffer into the other. */
function* merged(
  values: readonly TaggedValue[],
  isLess: Compare,
): Generator<RawStep, TaggedValue[], undefined> {
  let from = [...values]
  for (let width = 1; width < values.length; width *= 2) {
    const to: TaggedValue[] = []
    for (let start = 0; start < from.length; start += 2 * width) {
      const left = from.slice(start, start + width)
      const right = from.slice(start + width, start + 2 * width)
      let [l, r] = [0, 0]
      for (;;) {
        const [first, second] = [left[l], right[r]]
        if (first === undefined || second === undefined) break
        // The left one stays first among equals.
        if (yield* isLess(second, first)) {
          to.push(second)
          r += 1
        } else {
          to.push(first)
          l += 1
        }
      }
      for (; l < left.length; l += 1) to.push(left[l] as TaggedValue)
      for (; r < right.length; r += 1) to.push(right[r] as TaggedValue)
    }
    from = to
  }
  return from
}

function byFunction(L: LuaState): Compare {
  return function* (first, second) {
    lua.lua_pushvalue(L, 2)
    pushValue(L, first)
    pushValue(L, second)
    yield { call: 2 }
    const isLess = lua.lua_toboolean(L, -1)
    lua.lua_pop(L, 1)
    return isLess
  }
}

/** As `<` has it: numbers, strings, and what has a metamethod. */
function byNature(L: LuaState): Compare {
  let work = 0
  return function* (first, second) {
    work += 1
    if (work >= elementsPerPause) {
      work = 0
      yield 'pause'
    }
    if (isNumber(first) && isNumber(second)) return (first.value as number) < (second.value as number)
    if (isString(first) && isString(second)) {
      const { realstring: text } = first.value as LuaString
      work += text.length / bytesPerElement
      return Buffer.compare(text, (second.value as LuaString).realstring) < 0
    }
    pushValue(L, first)
    pushValue(L, second)
    const isLess = lua.lua_compare(L, -2, -1, lua.LUA_OPLT)
    lua.lua_pop(L, 2)
    return isLess
  }
}

const isNumber = ({ type }: TaggedValue): boolean => basicType(type) === basicType(tags.number)
const isString = ({ type }: TaggedValue): boolean => basicType(type) === basicType(tags.string)
