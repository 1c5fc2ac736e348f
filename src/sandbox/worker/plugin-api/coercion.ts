import { numberText } from '../lua/text/number-text.ts'
import type { PluginContext } from '../plugin-context.ts'
import { optionalNumber } from '../lua/arguments.ts'
import { toBytes, toUnicode } from '../lua/text/bytes.ts'

const booleanWords: ReadonlyMap<string, boolean> = new Map([
  ...['true', '1', 'yes', 'on'].map((word) => [word, true] as const),
  ...['false', '0', 'no', 'off'].map((word) => [word, false] as const),
])

/** On or off, as a text says it; undefined: it says neither. */
export const booleanWord = (text: string): boolean | undefined => booleanWords.get(text.trim().toLowerCase())

/** `coerceNumber`, `coerceString`, `coerceBool` (plugin API, section 8). */
export function installCoercion(context: PluginContext): void {
  context.addMethod('coerceNumber', (value, fallback) => {
    const number = optionalNumber(value)
    return number === undefined ? fallback : number
  })
  context.addMethod('coerceString', (value, fallback) => {
    if (value instanceof Uint8Array) return value
    if (typeof value === 'number') return toBytes(numberText(value))
    return typeof value === 'boolean' ? toBytes(String(value)) : fallback
  })
  context.addMethod('coerceBool', (value, fallback) => {
    if (typeof value === 'boolean') return value
    if (typeof value === 'number') return value !== 0
    return (value instanceof Uint8Array ? booleanWord(toUnicode(value)) : undefined) ?? fallback
  })
}
