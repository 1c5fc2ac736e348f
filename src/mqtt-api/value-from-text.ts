import type { Json } from '../base/text/json.ts'
import { controlKind, decimalNumber, switchWord } from '../schema/plugin/control-value.ts'
import { type Exposure, featuresOf } from '../schema/plugin/exposure.ts'
import { Problem } from '../base/problem.ts'
import { exceedsValueCount, parseJsonText } from '../schema/parsing/json-text.ts'

/** Arrays, objects and commas of a value that is set: a plugin may send itself one that it takes half a second to read. */
const valuesLimit = 20_000

/**
 * The value that a text means to a control of this type (plugin API, section 7): JSON, or bare text. `1` is a
 * number to most controls, but on to a switch and a text to a text field; what is no JSON either is taken as a
 * string. Throws `body_invalid` for JSON without end. Pure.
 */
export function controlValueFromText(text: string, type: string | undefined): Json {
  const kind = controlKind(type)
  if (kind === 'boolean') {
    const word = switchWord(text)
    if (word !== undefined) return word
  }
  if (kind === 'number') {
    const number = decimalNumber(text)
    if (number !== undefined) return number
  }
  // A text field gets nothing but text: what is no string of JSON is that itself.
  if (kind === 'text' && !/^\s*"/.test(text)) return text
  const value = jsonOrText(text)
  return kind === 'text' && typeof value !== 'string' ? text : value
}

/** The value that a text means to this feature of what a plugin exposes: JSON, or bare text. Pure. */
export function exposedValueFromText(text: string, exposure: Exposure, feature: string): Json {
  const kind = featuresOf(exposure.component)[feature]?.kind
  // What a text field or a list is given is text, also when it looks like a number.
  if (kind !== 'boolean' && kind !== 'number' && kind !== 'siren') return text
  return jsonOrText(text)
}

/** Throws `body_invalid` where there is more than anybody sets. */
function jsonOrText(text: string): Json {
  if (exceedsValueCount(text, valuesLimit))
    throw new Problem('body_invalid', `The value has more than ${valuesLimit} parts; send less at a time.`)
  const parsed = parseJsonText(Buffer.from(text))
  return parsed.ok ? (parsed.value as Json) : text
}
