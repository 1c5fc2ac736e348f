import { collectGarbage, heapStatistics } from '../heap.ts'
import { toBytes } from './text/bytes.ts'
import { debugging, watchStrings } from './engine/engine.ts'
import type { LuaState } from './engine/fengari-types.ts'
import { checkSoon } from './interrupt.ts'

/** Longest string in bytes: more than any page or payload a plugin may fetch, and no burden for a worker. */
export const defaultStringLimit = 16 * 1024 * 1024
/** Bytes outside the heap that one worker may have by default: twice its heap. */
export const defaultOutsideLimit = 256 * 1024 * 1024
/** New string bytes between two looks at the memory in use, which cost some microseconds. */
const bytesPerLook = 4 * 1024 * 1024
/** New string bytes that take about as long as the instructions between two questions whether to go on. */
const bytesPerQuestion = 1024 * 1024

interface StringLimits {
  /** Bytes of one string. */
  limit: number
  /**
   * Bytes outside the heap for the whole worker, most of them Lua strings; the limit of the heap does not see them.
   * Strings that are dead but not collected yet do not count.
   */
  outsideLimit: number
  /** Called when it is met: by one string, or by all together. */
  told?: ((of: 'one' | 'all') => void) | undefined
}

const limits = new WeakMap<object, StringLimits>()
let bytesSinceLook = 0
let bytesSinceQuestion = 0

export function limitStrings(L: LuaState, given: StringLimits): void {
  limits.set(L.l_G, given)
}

/** A longer string than it may have was asked for in this state, by something that has not made it. */
export function tellTooLong(L: LuaState): void {
  limits.get(L.l_G)?.told?.('one')
}

/** What a string of more than `limit` bytes is answered with. */
export const tooLong = (limit: number): string => `string too long (more than ${limit} bytes)`

const unlimited: StringLimits = { limit: defaultStringLimit, outsideLimit: defaultOutsideLimit }

/** V8 lets some 64 MB of garbage gather outside its heap before it collects it by itself. */
function isAbove(outsideLimit: number): boolean {
  const above = (): boolean => heapStatistics().external_memory > outsideLimit
  if (!above()) return false
  collectGarbage()
  return above()
}

watchStrings((L, bytes) => {
  const { limit, outsideLimit, told } = limits.get(L.l_G) ?? unlimited
  if (bytes > limit) {
    told?.('one')
    debugging.luaG_runerror(L, toBytes(tooLong(limit)))
  }
  bytesSinceQuestion += bytes
  if (bytesSinceQuestion >= bytesPerQuestion) {
    bytesSinceQuestion = 0
    checkSoon(L)
  }
  bytesSinceLook += bytes
  if (bytesSinceLook < bytesPerLook) return
  bytesSinceLook = 0
  if (isAbove(outsideLimit)) {
    told?.('all')
    debugging.luaG_runerror(L, toBytes('not enough memory for strings'))
  }
})
