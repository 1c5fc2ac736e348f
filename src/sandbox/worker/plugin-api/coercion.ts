import { numberText } from '../lua/text/number-text.ts'
import type { PluginContext } from '../plugin-context.ts'
import { optionalNumber } from '../lua/arguments.ts'
import { toBytes, toUnicode } from '../lua/text/bytes.ts'

const trueWords = new Set(['true', '1', 'yes', 'on'])
const falseWords = new Set(['false', '0', 'no', 'off'])

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
    const word = value instanceof Uint8Array ? toUnicode(value).trim().toLowerCase() : ''
    if (trueWords.has(word)) return true
    return falseWords.has(word) ? false : fallback
  })
}
