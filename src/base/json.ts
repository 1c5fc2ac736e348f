/** What JSON can say. */
export type Json = null | boolean | number | string | Json[] | JsonObject
export interface JsonObject {
  [key: string]: Json
}

/** Levels of nesting that `isJson` follows: more than Lua tables may have (100), and far from a stack overflow. */
const deepest = 128

/**
 * Whether a value of unknown making can be written as JSON and is as large there as it looks: plain objects and
 * arrays, nothing in it twice. A shared part would be written out each time, which a few lines can make endless.
 */
export function isJson(value: unknown): value is Json {
  return isPlain(value, new Set(), 0)
}

function isPlain(value: unknown, seen: Set<object>, depth: number): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || seen.has(value) || depth === deepest) return false
  seen.add(value)
  if (Array.isArray(value)) {
    for (const element of value as unknown[]) if (!isPlain(element, seen, depth + 1)) return false
    return true
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return false
  for (const element of Object.values(value)) {
    // A member without a value is none.
    if (element !== undefined && !isPlain(element, seen, depth + 1)) return false
  }
  return true
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
