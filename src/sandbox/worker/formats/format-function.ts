import type { LuaValue, Results } from '../lua/lua-value.ts'
import { pause, type Steps } from '../lua/steps.ts'
import { optionalText, typeName } from '../lua/arguments.ts'
import type { PluginContext } from '../plugin-context.ts'

/** What a format needs of a plugin. */
export type FormatContext = Pick<PluginContext, 'runtime' | 'byteBudget' | 'toJson'>

/** One function of a format. What it throws is bad input: Lua gets nil and the message. Long work goes in steps. */
export type FormatFunction = (context: FormatContext, ...args: LuaValue[]) => Results | Steps<Results>

/** The functions of one global. */
export type FormatLibrary = Readonly<Record<string, FormatFunction>>

/**
 * Values that one text may become. A text of a few megabytes can name more than a plugin has memory for, and it is better
 * told so than ended.
 */
const mostValues = 250_000

/** Counts what is made. Throws `Error` when it is too much. */
export function createValueCount(): (more: number) => void {
  let values = 0
  return (more) => {
    values += more
    if (values > mostValues) throw new Error(`more than ${mostValues} values`)
  }
}

/** Bytes of which the fastest work takes well below a millisecond, and the slowest a few. */
const pieceBytes = 128 * 1024

/** The bytes in pieces, with a pause after each, so that long work can be set aside or stopped. */
export function* eachPiece(bytes: Uint8Array, work: (piece: Uint8Array, start: number) => void): Steps<void> {
  for (let start = 0; start < bytes.length; start += pieceBytes) {
    if (start > 0) yield pause
    work(bytes.subarray(start, start + pieceBytes), start)
  }
}

/** The bytes of a string, or of a number as text. */
export function bytesArgument(value: LuaValue, what: string): Uint8Array {
  if (value instanceof Uint8Array) return value
  const text = optionalText(value)
  if (text === undefined) throw new Error(`${what} must be a string, not ${typeName(value)}`)
  return Buffer.from(text)
}
