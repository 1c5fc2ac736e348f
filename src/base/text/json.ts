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

/** As many digits in a row as only an integer beyond 2^53 has, or a fraction. */
const longDigits = /\d{17}/
const textOrLongInteger = /"[^"\\]*(?:\\.[^"\\]*)*"|(?<![\d.])\d{17,}/g

/**
 * JSON of a value, in which each integer has the digits that it has: JavaScript writes zeros for those that do not tell
 * one double from the next, and others read them as they are.
 */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value)
  if (!longDigits.test(text)) return text
  return text.replace(textOrLongInteger, (token) =>
    token.startsWith('"') ? token : integerText(Number(token)),
  )
}

/** All digits of an integral double. */
export function integerText(value: number): string {
  return Number.isSafeInteger(value) ? String(value) : BigInt(value).toString()
}

/**
 * An object of the same keys without those whose value becomes undefined, or the given one where no value becomes another;
 * `__proto__` is a key as any other.
 */
export function mapMembers<T>(
  object: Readonly<Record<string, T>>,
  change: (member: T, key: string) => T | undefined,
): Record<string, T> {
  // Most objects stay as they are: to copy tens of thousands of members takes many times as long as to look at them.
  let members: [string, T][] | undefined
  const keys = Object.keys(object)
  for (const [index, key] of keys.entries()) {
    const member = object[key] as T
    const changed = change(member, key)
    if (members === undefined) {
      if (changed === member && changed !== undefined) continue
      members = keys.slice(0, index).map((former) => [former, object[former] as T])
    }
    if (changed !== undefined) members.push([key, changed])
  }
  return members === undefined ? object : Object.fromEntries(members)
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
