import type { Field } from '../base/types.ts'

export type { Field }

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

/**
 * What is saved for this text; undefined: nothing. An empty one is no value, unless a default would take its place.
 * What is no number stays text, and the host says what is wrong with it.
 */
export function typedValue(field: Field, text: string): unknown {
  if (text === '') return isNumeric(field) || field.secret || field.default === null ? undefined : ''
  const number = Number(text)
  // `1.` and `1.50` would change under the fingers.
  return isNumeric(field) && String(number) === text.trim() ? number : text
}
