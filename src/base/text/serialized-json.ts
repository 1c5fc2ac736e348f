import { type Json, jsonText } from './json.ts'

/**
 * A JSON value as its text, which goes from hand to hand without being looked into. It is parsed when somebody wants the
 * value, and then once.
 */
export interface SerializedJson<T = Json> {
  /** UTF-8. Nobody changes it. */
  readonly bytes: Uint8Array
  /** Nobody changes it. Null, too, where the bytes are no JSON: they may come from a worker that is not what it was. */
  value(): T
}

/** Levels of nesting: more than Lua tables may have (100), and far from the stack overflow of writing it again. */
const deepest = 128

const encoder = new TextEncoder()
const decoder = new TextDecoder()

export function serializedJson(bytes: Uint8Array): SerializedJson {
  let parsed: { value: Json } | undefined
  return {
    bytes,
    value() {
      parsed ??= { value: parse(bytes) }
      return parsed.value
    },
  }
}

/** Nothing is null. */
export function serializeJson<T>(value: T): SerializedJson<T> {
  const given = value ?? (null as T)
  return { bytes: encoder.encode(jsonText(given)), value: () => given }
}

function parse(bytes: Uint8Array): Json {
  try {
    const value = JSON.parse(decoder.decode(bytes)) as Json
    return isDeeperThan(deepest, value) ? null : value
  } catch {
    return null
  }
}

function isDeeperThan(levels: number, value: Json): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  for (const member of Array.isArray(value) ? value : Object.values(value))
    if (isDeeperThan(levels - 1, member)) return true
  return false
}
