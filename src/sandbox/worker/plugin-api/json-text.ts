import { type Json, jsonText } from '../../../base/text/json.ts'
import { deepest } from '../lua/json-values.ts'
import type { LuaValue } from '../lua/lua-value.ts'
import type { PluginContext } from '../plugin-context.ts'
import { isTable, typeName } from '../lua/arguments.ts'
import { toBytes } from '../lua/text/bytes.ts'

/** Values of one JSON text: more tables than that fill the memory of a plugin. */
export const mostJsonValues = 1_000_000

/**
 * Reads JSON, with or without the byte order mark that some servers put in front. Throws `Error` for what is none, or would
 * take much more memory than its text: before it is read, for a megabyte of brackets is a hundred of tables.
 */
export function parseJsonText(text: string, most: number): Json {
  assertReadable(text, most)
  return JSON.parse(text.replace(/^\uFEFF/, '')) as Json
}

const backslash = 0x5c
const quote = 0x22
const comma = 0x2c
const bracket = 0x5b
const bracketEnd = 0x5d
const brace = 0x7b
const braceEnd = 0x7d

/** Looks at the signs outside of strings, whether or not the text is JSON. */
function assertReadable(text: string, most: number): void {
  let depth = 0
  let values = 1
  let inString = false
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index)
    if (inString) {
      if (unit === backslash) index += 1
      else if (unit === quote) inString = false
    } else if (unit === quote) inString = true
    else if (unit === bracket || unit === brace) {
      depth += 1
      values += 1
      if (depth > deepest) throw new Error(`more than ${deepest} levels deep`)
    } else if (unit === bracketEnd || unit === braceEnd) depth -= 1
    else if (unit === comma) values += 1
    if (values > most) throw new Error(`more than ${most} values`)
  }
}

/** The JSON of a value that `call` sends to somebody. Throws `Error` for what has none. */
export function sendableJson(
  context: Pick<PluginContext, 'toJson'>,
  call: string,
  value: LuaValue,
): Uint8Array {
  const json =
    value === undefined ? null : context.toJson(value, isTable(value) ? 'json of' : undefined, call)
  if (json === undefined) throw new Error(`a ${typeName(value)} cannot be sent as JSON`)
  return toBytes(jsonText(json))
}
