import { type Json, jsonText } from './json.ts'

/**
 * A JSON value as its text, which goes from hand to hand without being looked into. It is parsed when somebody wants the
 * value, and then once.
 */
export interface SerializedJson {
  /** UTF-8. Nobody changes it. */
  readonly bytes: Uint8Array
  /** Null, too, where the bytes are no JSON: they may come from a worker that is not what it was. */
  value(): Json
}

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
export function serializeJson(value: Json | undefined): SerializedJson {
  return { bytes: encoder.encode(jsonText(value ?? null)), value: () => value ?? null }
}

function parse(bytes: Uint8Array): Json {
  try {
    return JSON.parse(decoder.decode(bytes)) as Json
  } catch {
    return null
  }
}
