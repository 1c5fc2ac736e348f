import type { Json, JsonObject } from '../../base/text/json.ts'
import type { Field } from '../../schema/manifest/field.ts'
import { holdsSecret } from '../../schema/manifest/holds-secret.ts'
import type { Config } from '../../schema/plugin/plugin.ts'
import { converted, violations } from './field-values.ts'

/**
 * Settings that were a text with one rule a line, and have become lists: what is stored is read as rows by `lines` of
 * the field (docs/plugin-api.md, "Lists that were texts"). Pure. All that a row gets is a piece of what the owner wrote.
 */

export interface RowsOfText {
  rows: JsonObject[]
  /** What is wrong with each line that is no row. */
  unread: string[]
}

/** A part of a form such as `{from} -> {to} {…}`. */
type Part =
  | { kind: 'column'; names: string[]; rest: boolean }
  /** Everything that follows: `key=value`, and names of switches. */
  | { kind: 'options' }
  | { kind: 'text'; text: string }

/** Undefined: the field says nothing of lines. */
export function rowsOfText(
  { lines, fields }: Pick<Field, 'lines' | 'fields'>,
  text: string,
): RowsOfText | undefined {
  if (lines === null || fields === null) return undefined
  const forms = lines.map((form) => ({ form, parts: partsOf(form) }))
  // What is wrong with a line is told with the line, unless it may have a secret in it.
  const isOpen = !fields.some(holdsSecret)
  const read = (contents: readonly string[]): RowsOfText => {
    const result: RowsOfText = { rows: [], unread: [] }
    for (const [index, content] of contents.entries()) {
      const line = withoutEnd(content.trim())
      if (line === '' || line.startsWith('#')) continue
      const row = firstRow(forms, fields, line)
      if (typeof row !== 'string') result.rows.push(row)
      else if (isOpen) result.unread.push(`line ${index + 1} (${JSON.stringify(line)}) is left out: ${row}`)
      else result.unread.push(`line ${index + 1} is left out: it does not read as ${lines.join(' or ')}`)
    }
    return result
  }
  if (text.includes('\n')) return read(text.split(/\r?\n/))
  // A field without line breaks had `;` in their place; addresses may have one of their own.
  const careful = read(text.split(/;\s/))
  if (careful.unread.length === 0) return careful
  const anywhere = read(text.split(';'))
  return anywhere.unread.length === 0 ? anywhere : careful
}

function withoutEnd(line: string): string {
  return line.endsWith(';') ? line.slice(0, -1).trimEnd() : line
}

/** The configuration with rows in place of texts of which every line can be read. */
export function withRows(fields: readonly Field[], config: Config): Config {
  const changed = fields.flatMap((field): [string, unknown][] => {
    const value = Object.hasOwn(config, field.key) ? config[field.key] : undefined
    const carried = typeof value === 'string' ? rowsOfText(field, value) : undefined
    return carried === undefined || carried.unread.length > 0 ? [] : [[field.key, carried.rows]]
  })
  return changed.length === 0 ? config : { ...config, ...Object.fromEntries(changed) }
}

function partsOf(form: string): Part[] {
  const pieces = form.split(/(\{[^{}]*\})/).filter((piece) => piece.trim() !== '')
  return pieces.map((piece) => {
    if (piece === '{…}' || piece === '{...}') return { kind: 'options' }
    const [, names, rest] = /^\{(.*?)(…|\.\.\.)?\}$/.exec(piece) ?? []
    if (names === undefined) return { kind: 'text', text: piece.trim() }
    return { kind: 'column', names: names.split('|'), rest: rest !== undefined }
  })
}

/** The row of the first form that takes the line, or why not: what is wrong with its values, as the last form sees it. */
function firstRow(
  forms: readonly { form: string; parts: readonly Part[] }[],
  fields: readonly Field[],
  line: string,
): JsonObject | string {
  const reasons: string[] = []
  for (const { form, parts } of forms) {
    const row = rowOf(parts, fields, line)
    if (typeof row !== 'string') return row
    reasons.push(row === '' ? `it does not read as ${form}` : row)
  }
  return (
    reasons.findLast((reason) => !reason.startsWith('it does not read')) ??
    reasons[0] ??
    'nothing says how to read it'
  )
}

/** A text: why it is none, empty when it has another form. */
function rowOf(parts: readonly Part[], fields: readonly Field[], line: string): JsonObject | string {
  const row = new Map<string, Json>()
  let rest = line
  for (const [index, part] of parts.entries()) {
    rest = rest.trimStart()
    if (part.kind === 'options') {
      const problem = readOptions(fields, rest, row)
      if (problem !== undefined) return problem
      rest = ''
    } else if (part.kind === 'text') {
      if (!rest.startsWith(part.text)) return ''
      rest = rest.slice(part.text.length)
    } else {
      const next = parts[index + 1]
      const [value, after] = part.rest
        ? [rest.trim(), '']
        : valueBefore(next?.kind === 'text' ? next.text : undefined, rest)
      if (value === '' && !part.rest) return ''
      const problem = value === '' ? undefined : setColumns(fields, part.names, value, row)
      if (problem !== undefined) return problem
      rest = after
    }
  }
  return rest.trim() === '' ? Object.fromEntries(row) : ''
}

/** What stands before `end`, or the next word; `"…"` keeps blanks together. And what follows. */
function valueBefore(end: string | undefined, text: string): [value: string, after: string] {
  if (end === undefined || text.startsWith('"')) return nextWord(text)
  const position = text.indexOf(end)
  return position === -1 ? ['', text] : [text.slice(0, position).trim(), text.slice(position)]
}

/** `name="two words"` is one word. */
function nextWord(text: string): [word: string, after: string] {
  const [whole = ''] = /^(?:"[^"]*"|[^\s"])+/.exec(text) ?? []
  return [whole.replaceAll('"', ''), text.slice(whole.length)]
}

function readOptions(fields: readonly Field[], text: string, row: Map<string, Json>): string | undefined {
  for (let rest = text.trim(); rest !== '';) {
    const [word, after] = nextWord(rest)
    if (word === '') return `${rest} cannot be read`
    rest = after.trim()
    const [, key = word, value] = /^(\w+)=(.*)$/s.exec(word) ?? []
    const field = fields.find((candidate) => candidate.key === key)
    if (field === undefined || (value === undefined && field.type !== 'boolean'))
      return `${word} is no option`
    const problem = setColumns(fields, [key], value ?? 'true', row)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** Of two columns, the first takes what has `://`, and the second what has not. */
function setColumns(
  fields: readonly Field[],
  [first = '', second]: readonly string[],
  text: string,
  row: Map<string, Json>,
): string | undefined {
  if (second === undefined) return setColumn(fields, first, text, row)
  const parts = text.split(',')
  const [addresses, others] = [
    parts.filter((part) => part.includes('://')),
    parts.filter((part) => !part.includes('://')),
  ]
  return (
    (addresses.length === 0 ? undefined : setColumn(fields, first, addresses.join(','), row)) ??
    (others.length === 0 ? undefined : setColumn(fields, second, others.join(','), row))
  )
}

function setColumn(
  fields: readonly Field[],
  key: string,
  text: string,
  row: Map<string, Json>,
): string | undefined {
  const field = fields.find((candidate) => candidate.key === key)
  if (field === undefined) return `there is no column ${key}`
  const value = field.type === 'list' ? listOf(field, text) : converted(text, field)
  const problems = field.type === 'list' ? lackingColumns(field, value) : violations(field, value ?? text)
  if (value === undefined || problems.length > 0) return `${key} ${problems.join(', ')}`
  row.set(key, value as Json)
  return undefined
}

function lackingColumns({ fields }: Field, rows: unknown): string[] {
  const required = fields?.filter((field) => field.required) ?? []
  const lacking = required.filter(
    ({ key }) => Array.isArray(rows) && rows.some((row) => !Object.hasOwn(row as object, key)),
  )
  return lacking.map(({ key }) => `lacks ${key}`)
}

/** `a,b` as values; `a:b,c:d` as rows, by the order of their columns. */
function listOf({ items, fields }: Field, text: string): Json[] {
  const parts = text.split(',').map((part) => part.trim())
  if (fields === null) return parts.map((part) => ((items && converted(part, items)) ?? part) as Json)
  return parts.map((part) => {
    const pieces = part.split(':')
    const values = fields.map((field, index) => {
      const piece = index === fields.length - 1 ? pieces.slice(index).join(':') : (pieces[index] ?? '')
      return [field.key, piece === '' ? undefined : ((converted(piece, field) ?? piece) as Json)] as const
    })
    return Object.fromEntries(values.filter((entry): entry is [string, Json] => entry[1] !== undefined))
  })
}
