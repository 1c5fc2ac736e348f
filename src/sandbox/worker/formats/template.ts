import { jsonText } from '../../../base/text/json.ts'
import { formatDate, readDateFormat } from '../lua/text/calendar.ts'
import type { LuaValue } from '../lua/lua-value.ts'
import { numberText } from '../lua/text/number-text.ts'
import { pause, type Steps } from '../lua/steps.ts'
import { nameLimit, optionalNumber } from '../lua/arguments.ts'
import { toBytes, toUnicode } from '../lua/text/bytes.ts'
import { bytesArgument, type FormatContext, type FormatLibrary } from './format-function.ts'
import { pathSteps, valueAt } from './jsonpath.ts'
import { roundedText } from './rounding.ts'

/** Placeholders between two pauses. */
const placeholdersPerPause = 500
const usualDate = '%Y-%m-%d %H:%M:%S'

/** What a filter makes of a value; `given` is the text in its brackets. */
type Filter = (context: FormatContext, value: LuaValue, given: string | undefined) => LuaValue

const filters: Readonly<Record<string, Filter>> = {
  round(_context, value, given) {
    const text = roundedText(value, given === undefined ? 0 : toBytes(given))
    return text === undefined ? value : toBytes(text)
  },
  upper: (context, value) => toBytes(shown(context, value).toUpperCase()),
  lower: (context, value) => toBytes(shown(context, value).toLowerCase()),
  default: (context, value, given = '') => (shown(context, value) === '' ? toBytes(given) : value),
  json(context, value) {
    const json = value === undefined ? null : context.toJson(value)
    return json === undefined ? undefined : toBytes(jsonText(json))
  },
  date(_context, value, given = usualDate) {
    const text = value instanceof Uint8Array ? toUnicode(value) : ''
    // A moment as text, such as 2024-05-01T12:00:00Z, is one, too.
    const seconds = optionalNumber(value) ?? Date.parse(text) / 1000
    if (Number.isNaN(seconds)) return value
    const wanted = readDateFormat(given, seconds)
    if (wanted === undefined) return value
    return toBytes(
      formatDate(wanted, (letter) => {
        throw new Error(`date does not know %${letter}`)
      }),
    )
  },
}

/** A value as text; what is missing is empty, and so is a function. */
function shown(context: FormatContext, value: LuaValue): string {
  if (value instanceof Uint8Array) return toUnicode(value)
  if (typeof value === 'number') return numberText(value)
  if (typeof value === 'boolean') return String(value)
  const json = value === undefined ? undefined : context.toJson(value)
  return json === undefined ? '' : jsonText(json)
}

interface Applied {
  filter: Filter
  given: string | undefined
}

/** `a.b | round(1) | default("?")` as the steps to the value, and what is made of it. */
function readPlaceholder(text: string): { steps: ReturnType<typeof pathSteps>; applied: Applied[] } {
  if (text.length > nameLimit) throw new Error(`a placeholder has more than ${nameLimit} characters`)
  const [path = '', ...rest] = splitOutsideQuotes(text)
  return { steps: pathSteps(path.trim()), applied: rest.map(readFilter) }
}

/** The parts between vertical lines. */
function splitOutsideQuotes(text: string): string[] {
  const parts = ['']
  let quote: string | undefined
  for (const character of text) {
    if (quote === undefined && character === '|') {
      parts.push('')
      continue
    }
    if (character === quote) quote = undefined
    else if (quote === undefined && (character === '"' || character === "'")) quote = character
    parts.push(`${parts.pop() ?? ''}${character}`)
  }
  return parts
}

function readFilter(part: string): Applied {
  const text = part.trim()
  const [name = ''] = /^[a-z]+/.exec(text) ?? []
  const brackets = text.slice(name.length).trim()
  const filter = Object.hasOwn(filters, name) ? filters[name] : undefined
  const isWhole =
    brackets === '' || (brackets.startsWith('(') && brackets.endsWith(')') && brackets.length > 1)
  if (filter === undefined || !isWhole)
    throw new Error(`no filter '${text}': there are ${Object.keys(filters).join(', ')}`)
  const inner = brackets.slice(1, -1).trim()
  if (inner === '') return { filter, given: undefined }
  const isQuoted = inner.length > 1 && /^["']/.test(inner) && inner.endsWith(inner.charAt(0))
  return { filter, given: isQuoted ? inner.slice(1, -1) : inner }
}

/** Texts with `{{ a.b | round(1) }}` in them. */
export const template: FormatLibrary = {
  *render(context, source, values): Steps<LuaValue> {
    const text = toUnicode(bytesArgument(source, 'the template'))
    const budget = context.byteBudget()
    const pieces: string[] = []
    const add = (piece: string): void => {
      budget.spend(piece.length)
      pieces.push(piece)
    }
    let at = 0
    for (let count = 1; ; count += 1) {
      const begin = text.indexOf('{{', at)
      add(text.slice(at, begin < 0 ? undefined : begin))
      if (begin < 0) return toBytes(pieces.join(''))
      const end = text.indexOf('}}', begin + 2)
      if (end < 0) throw new Error(`the {{ at ${begin + 1} is not closed`)
      const { steps, applied } = readPlaceholder(text.slice(begin + 2, end))
      const value = applied.reduce(
        (found, { filter, given }) => filter(context, found, given),
        valueAt(values, steps),
      )
      add(shown(context, value))
      at = end + 2
      if (count % placeholdersPerPause === 0) yield pause
    }
  },
}
