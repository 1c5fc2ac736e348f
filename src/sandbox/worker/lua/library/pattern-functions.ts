import { createByteBuilder } from '../text/byte-builder.ts'
import { asBuffer, fromLatin1, toUnicode } from '../text/bytes.ts'
import { auxiliary, lua } from '../engine/engine.ts'
import type { LuaState, RawFunction } from '../engine/fengari-types.ts'
import { type Capture, createMatcher, type Match, type Matcher } from '../text/lua-pattern.ts'
import { guarded, LuaFailure } from '../raw-function.ts'
import { inPieces, type RawStep, type RawSteps, stepwise } from '../raw-steps.ts'
import type { LibraryContext } from './libraries.ts'

const special = new Set(fromLatin1('^$*+?.([%-'))
const percent = 0x25
/** Replacements between two pauses: a tenth of a millisecond. */
const replacementsPerPause = 100

/** Bytes that a search for a plain text compares between two questions whether to go on, at most. */
const bytesPerPause = 4_000_000
/** Bytes of a longer text that are looked for; the others are compared where these are found. */
const longestBeginning = 16_000
/** Percent signs of a replacement between two questions whether to go on. */
const signsPerPoll = 5_000

/** `find`, `match`, `gmatch` and `gsub`. */
export function patternFunctions(context: LibraryContext): Record<string, RawFunction> {
  const { interrupt, stringLimit } = context
  const searches: Searches = {
    poll: (L) => interrupt.poll(L),
    matcher: (L, subject, pattern, anchors) =>
      createMatcher(subject, pattern, () => searches.poll(L), anchors),
    first(L, matcher, from, found) {
      const first = matcher.find(from)
      if (typeof first !== 'number') return found(L, first, matcher)
      return stepwise(() => goOn(L, matcher, first, found))(L)
    },
  }
  return {
    find: (L) => find(L, searches, pushPlace),
    match: (L) => find(L, searches, pushMatch),
    gmatch: (L) => iterate(L, searches),
    gsub: stepwise((L) => substitute(L, searches, stringLimit)),
  }
}

interface Searches {
  matcher(L: LuaState, subject: Uint8Array, pattern: Uint8Array, anchors?: boolean): Matcher
  /** Raises when Lua has to stop. */
  poll(L: LuaState): void
  /** Hands over the first match from here on. Most searches are short, and no work for a generator; a long one goes on in steps. */
  first(L: LuaState, matcher: Matcher, from: number, found: Found): number
}

/** Answers how many values it has put on the stack. */
type Found = (L: LuaState, match: Match | undefined, matcher: Matcher) => number

function* goOn(L: LuaState, matcher: Matcher, from: number, found: Found): RawSteps {
  let next: Match | number | undefined = from
  while (typeof next === 'number') {
    yield 'pause'
    next = matcher.find(next)
  }
  return found(L, next, matcher)
}

/** The offset that argument `index` names, negative from the end; `undefined` behind the end. */
function startOffset(L: LuaState, index: number, length: number): number | undefined {
  const given = auxiliary.luaL_optinteger(L, index, 1)
  const offset = given > 0 ? given - 1 : given === 0 ? 0 : Math.max(0, length + given)
  return offset > length ? undefined : offset
}

function pushCapture(L: LuaState, capture: Capture): void {
  if (typeof capture === 'number') lua.lua_pushnumber(L, capture)
  else lua.lua_pushstring(L, capture)
}

function pushCaptures(L: LuaState, captures: readonly Capture[]): number {
  auxiliary.luaL_checkstack(L, captures.length, fromLatin1('too many captures'))
  for (const capture of captures) pushCapture(L, capture)
  return captures.length
}

function pushNothing(L: LuaState): number {
  lua.lua_pushnil(L)
  return 1
}

const pushMatch: Found = (L, match) =>
  match === undefined ? pushNothing(L) : pushCaptures(L, match.captures)

const pushPlace: Found = (L, match) => {
  if (match === undefined) return pushNothing(L)
  lua.lua_pushnumber(L, match.start + 1)
  lua.lua_pushnumber(L, match.end)
  return pushCaptures(L, match.explicit) + 2
}

function find(L: LuaState, searches: Searches, found: Found): number {
  const subject = auxiliary.luaL_checkstring(L, 1)
  const pattern = auxiliary.luaL_checkstring(L, 2)
  const start = startOffset(L, 3, subject.length)
  if (start === undefined) return pushNothing(L)
  if (found === pushPlace && (lua.lua_toboolean(L, 4) || !pattern.some((byte) => special.has(byte)))) {
    return findPlain(L, subject, pattern, start)
  }
  return searches.first(L, searches.matcher(L, subject, pattern), start, found)
}

/**
 * Of texts that repeat themselves Node compares as many bytes as the product of the two lengths, so it gets a part of each at
 * a time.
 */
function findPlain(L: LuaState, subject: Uint8Array, text: Uint8Array, start: number): number {
  const whole = asBuffer(subject)
  if ((subject.length - start) * text.length <= bytesPerPause)
    return pushPlainPlace(L, text, whole.indexOf(text, start))
  const beginning = text.subarray(0, longestBeginning)
  const places = Math.ceil(bytesPerPause / beginning.length)
  const behindLast = subject.length - text.length + 1
  let at = start
  return inPieces(L, () => {
    if (at >= behindLast) return pushNothing(L)
    const next = Math.min(at + places, behindLast)
    const found = whole.subarray(at, next - 1 + beginning.length).indexOf(beginning)
    if (found < 0) at = next
    else if (whole.subarray(at + found, at + found + text.length).equals(text))
      return pushPlainPlace(L, text, at + found)
    else at += found + 1
    return undefined
  })
}

function pushPlainPlace(L: LuaState, text: Uint8Array, at: number): number {
  if (at < 0) return pushNothing(L)
  lua.lua_pushnumber(L, at + 1)
  lua.lua_pushnumber(L, at + text.length)
  return 2
}

function iterate(L: LuaState, searches: Searches): number {
  const subject = auxiliary.luaL_checkstring(L, 1)
  const pattern = auxiliary.luaL_checkstring(L, 2)
  let from = 0
  let lastEnd = -1
  const found: Found = (state, match, matcher) => {
    if (match === undefined) {
      from = subject.length + 1
      return pushNothing(state)
    }
    if (match.end === lastEnd) return searches.first(state, matcher, match.start + 1, found)
    from = match.end
    lastEnd = match.end
    return pushCaptures(state, match.captures)
  }
  // The matcher is made for each call, since the coroutine that goes on may be another one.
  const next: RawFunction = (state) =>
    searches.first(state, searches.matcher(state, subject, pattern, false), from, found)
  lua.lua_pushcfunction(L, guarded(next))
  return 1
}

function* substitute(L: LuaState, searches: Searches, stringLimit: number): RawSteps {
  const subject = auxiliary.luaL_checkstring(L, 1)
  const pattern = auxiliary.luaL_checkstring(L, 2)
  const kind = lua.lua_type(L, 3)
  const replacements = [lua.LUA_TNUMBER, lua.LUA_TSTRING, lua.LUA_TTABLE, lua.LUA_TFUNCTION]
  if (!replacements.includes(kind)) {
    auxiliary.luaL_argerror(L, 3, fromLatin1('string/function/table expected'))
  }
  const most = lua.lua_isnoneornil(L, 4) ? subject.length + 1 : auxiliary.luaL_checkinteger(L, 4)
  const text = kind === lua.LUA_TNUMBER || kind === lua.LUA_TSTRING ? lua.lua_tostring(L, 3) : null
  const matcher = searches.matcher(L, subject, pattern)
  const builder = createByteBuilder(stringLimit)
  /** What is before it has been written, and no match starts between the two. */
  let at = 0
  let from = 0
  let lastEnd = -1
  let count = 0
  while (count < most) {
    const found = matcher.find(from)
    if (typeof found === 'number') {
      from = found
      yield 'pause'
      continue
    }
    if (found === undefined) break
    builder.add(subject.subarray(at, found.start))
    at = found.start
    if (found.end !== lastEnd) {
      count += 1
      const whole = subject.subarray(found.start, found.end)
      if (text !== null) expand(text, whole, found.captures, builder.add, () => searches.poll(L))
      else builder.add((yield* replacement(L, kind, found)) ?? whole)
      at = found.end
      lastEnd = found.end
    } else if (at < subject.length) {
      builder.add(subject.subarray(at, at + 1))
      at += 1
    } else break
    if (matcher.anchored) break
    from = at
    if (count % replacementsPerPause === 0) yield 'pause'
  }
  builder.add(subject.subarray(Math.min(at, subject.length)))
  lua.lua_pushstring(L, builder.take())
  lua.lua_pushnumber(L, count)
  return 2
}

const captureBytes = (capture: Capture): Uint8Array =>
  typeof capture === 'number' ? fromLatin1(String(capture)) : capture

/** `%0` is the whole match, `%1` to `%9` are its captures. */
function expand(
  text: Uint8Array,
  whole: Uint8Array,
  captures: readonly Capture[],
  add: (piece: Uint8Array) => void,
  poll: () => void,
): void {
  let at = 0
  for (let signs = 1; ; signs += 1) {
    if (signs % signsPerPoll === 0) poll()
    const sign = text.indexOf(percent, at)
    add(sign < 0 ? text.subarray(at) : text.subarray(at, sign))
    if (sign < 0) return
    const second = text[sign + 1] ?? 0
    const digit = second - 0x30
    if (second === percent) add(text.subarray(sign, sign + 1))
    else if (digit === 0) add(whole)
    else if (digit > 0 && digit <= 9) {
      const capture = captures[digit - 1]
      if (capture === undefined) {
        throw new LuaFailure(`invalid capture index %${digit} in replacement string`)
      }
      add(captureBytes(capture))
    } else throw new LuaFailure("invalid use of '%' in replacement string")
    at = sign + 2
  }
}

/** What the table or function puts in place of a match; `undefined`: the match stays. */
function* replacement(
  L: LuaState,
  kind: number,
  found: Match,
): Generator<RawStep, Uint8Array | undefined, undefined> {
  if (kind === lua.LUA_TTABLE) {
    pushCaptures(L, found.captures.slice(0, 1))
    lua.lua_gettable(L, 3)
  } else {
    lua.lua_pushvalue(L, 3)
    yield { call: pushCaptures(L, found.captures) }
  }
  if (!lua.lua_toboolean(L, -1)) {
    lua.lua_pop(L, 1)
    return undefined
  }
  if (!lua.lua_isstring(L, -1)) {
    const type = toUnicode(auxiliary.luaL_typename(L, -1))
    throw new LuaFailure(`invalid replacement value (a ${type})`)
  }
  const bytes = lua.lua_tostring(L, -1) ?? undefined
  lua.lua_pop(L, 1)
  return bytes
}
