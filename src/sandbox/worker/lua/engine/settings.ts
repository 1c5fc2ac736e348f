/**
 * What has to be changed in fengari before its other modules are loaded, because they take these functions
 * and numbers by value. `defs.js` comes first: the two files need each other, and only this order works.
 */
import first from './fengari-first.cts'
import { toLatin1 } from '../text/bytes.ts'
import type { LuaState } from './fengari-types.ts'
import { numberText } from '../text/number-text.ts'

export const { definitions, strings, configuration } = first

/**
 * Slots of one Lua stack. An endless recursion ends here with a Lua error; fengari's own million would take
 * more memory than a worker has.
 */
const stackSlots = 150_000
/** 5.3, as fengari writes it. */
const luaVersion = 503
/** Bytes of a file name in messages. */
const sourceNameBytes = 250
/** Of a shorter string more lies on the heap, which has a limit of its own, than outside. */
const watchedStringBytes = 256

// A use of `defs.js` also keeps a bundler from leaving its import out.
if (definitions.LUA_VERSION_NUM !== luaVersion)
  throw new Error('fengari is not the Lua 5.3 that is changed here')

configuration.LUA_COMPAT_FLOATSTRING = true
configuration.LUAI_MAXSTACK = stackSlots
configuration.LUA_IDSIZE = sourceNameBytes
configuration.lua_number2str = numberText
configuration.lua_integer2str = numberText
// No double becomes a 32-bit integer: so bit operations reach `numbers.ts`, and `math.floor` gives
// back a double.
configuration.lua_numbertointeger = () => false

type Watcher = (L: LuaState, bytes: number) => void
let watcher: Watcher | undefined

/** Sets who is told of a string of `watchedStringBytes` or more that is about to be made; it may raise. */
export function watchStrings(watch: Watcher): void {
  watcher = watch
}

const { TString } = strings
// fengari writes each byte as hexadecimal without leading zero, so that different strings could be one key.
strings.luaS_hash = (bytes) => `|${toLatin1(bytes)}`
strings.luaS_hashlongstr = (text) => (text.hash ??= `|${toLatin1(text.realstring)}`)
strings.luaS_bless = (L, bytes) => {
  if (bytes.length >= watchedStringBytes) watcher?.(L, bytes.length)
  return new TString(L, bytes)
}
strings.luaS_eqlngstr = ({ realstring: first }, { realstring: second }) => {
  const { length } = first
  if (first === second) return true
  if (length !== second.length) return false
  if (length >= watchedStringBytes) return Buffer.compare(first, second) === 0
  for (let index = 0; index < length; index += 1) if (first[index] !== second[index]) return false
  return true
}
// Not an arrow function: fengari also calls it with `new`.
strings.luaS_new = function makeString(L, bytes) {
  if (bytes.length >= watchedStringBytes) watcher?.(L, bytes.length)
  // A copy in any case; `slice` of a Node buffer would share its memory.
  return new TString(L, new Uint8Array(bytes))
}
