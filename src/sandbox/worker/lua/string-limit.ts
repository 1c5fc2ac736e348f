import { getHeapStatistics } from 'node:v8'
import { toBytes } from './bytes.ts'
import { debugging, watchStrings } from './engine.ts'
import type { LuaState } from './fengari-types.ts'

/** Longest string in bytes: more than any page or payload a plugin may fetch, and no burden for a worker. */
export const defaultStringLimit = 16 * 1024 * 1024
/**
 * Bytes outside the heap that one worker may have, most of them Lua strings; the heap limit does not see them.
 * Half of it would do for any plugin; the rest is for strings that are dead but not collected yet.
 */
const memoryLimit = 256 * 1024 * 1024
/** New string bytes between two looks at the memory in use, which cost some microseconds. */
const bytesPerLook = 4 * 1024 * 1024

const limits = new WeakMap<object, { limit: number; told: (() => void) | undefined }>()
let bytesSinceLook = 0

export function limitStrings(L: LuaState, limit: number, told?: () => void): void {
  limits.set(L.l_G, { limit, told })
}

/** What a string of more than `limit` bytes is answered with. */
export const tooLong = (limit: number): string => `string too long (more than ${limit} bytes)`

watchStrings((L, bytes) => {
  const { limit, told } = limits.get(L.l_G) ?? { limit: defaultStringLimit, told: undefined }
  if (bytes > limit) {
    told?.()
    debugging.luaG_runerror(L, toBytes(tooLong(limit)))
  }
  bytesSinceLook += bytes
  if (bytesSinceLook < bytesPerLook) return
  bytesSinceLook = 0
  if (getHeapStatistics().external_memory > memoryLimit) {
    debugging.luaG_runerror(L, toBytes('not enough memory for strings'))
  }
})
