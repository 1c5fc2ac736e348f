import { withPoint } from '../../base/typed-number.ts'
import type { Field } from '../../base/types.ts'
import { valueText } from '../../base/words.ts'

/** How a setting is typed as text. Pure. */

/** A manifest without the type `text` says it in its description: "One rule a line". */
const saysLines = /\b(?:a|per|each|every|one) line\b|\blines\b/i

/** Whether it takes several lines: by its type, by what its author says of it, or by what is stored. */
export function hasLines({ type, description, default: fallback }: Field, value: unknown): boolean {
  if (type === 'text') return true
  if (type !== 'string') return false
  const isWritten = [value, fallback].some((text) => typeof text === 'string' && text.includes('\n'))
  return isWritten || (description !== null && saysLines.test(description))
}

export function isNumeric({ type }: Field): boolean {
  return type === 'number' || type === 'integer'
}

/** What stands in an empty field: what the plugin gets then, where that is known. */
export function placeholderOf(field: Field, value: unknown): string {
  if (field.default === null) return field.placeholder ?? ''
  // Saved as such, it takes the place of the default.
  return value === '' && field.default !== '' ? 'Empty, not the default' : valueText(field.default)
}

/**
 * What is saved for this text; undefined: nothing. An empty one is no value, unless a default would take its place.
 * What is no number stays text, and the host says what is wrong with it.
 */
export function typedValue(field: Field, text: string): unknown {
  if (text === '') return isNumeric(field) || field.secret || field.default === null ? undefined : ''
  if (!isNumeric(field)) return text
  const plain = withPoint(text).trim()
  const number = Number(plain)
  const digits = plain.replaceAll(/\D/g, '').length
  // `1.` and `1.50` are numbers, too, but not what has more digits than one keeps.
  const isOne = /^-?\d*(?:\.\d*)?$/.test(plain) && digits > 0 && digits <= 15
  return Number.isFinite(number) && (isOne || String(number) === plain) ? number : text
}
