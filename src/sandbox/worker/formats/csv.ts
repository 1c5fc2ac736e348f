import { type LuaTable, type LuaValue } from '../lua/lua-value.ts'
import { pause, type Steps } from '../lua/steps.ts'
import { isTable, isTruthy, option, optionalText, typeName } from '../lua/arguments.ts'
import { numberText } from '../lua/text/number-text.ts'
import { bytesArgument, createValueCount, type FormatContext, type FormatLibrary } from './format-function.ts'
import { fromLatin1, toLatin1 } from '../lua/text/bytes.ts'

const quote = 0x22
const lineFeed = 0x0a
const carriageReturn = 0x0d
const byteOrderMark = [0xef, 0xbb, 0xbf]
/** Fields between two pauses. */
const fieldsPerPause = 500
/** A table takes more than a text. */
const valuesOfRow = 2

/** Comma-separated values of RFC 4180: lines end with CR LF, or with LF alone; no text is anything but text. */
export const csv: FormatLibrary = {
  *decode(context, text, options) {
    const bytes = bytesArgument(text, 'the text')
    const rows = context.runtime.newTable()
    const header = isTruthy(option(options, 'header'))
    let names: Uint8Array[] | undefined
    let count = 0
    for (const { fields, line } of linesOf(bytes, separatorOf(options))) {
      if (fields === undefined) {
        yield pause
        continue
      }
      if (header && names === undefined) {
        names = fields
        continue
      }
      if (names !== undefined && fields.length > names.length)
        throw new Error(`line ${line} has ${fields.length} fields, and the first line ${names.length}`)
      const row = context.runtime.newTable()
      for (const [index, field] of fields.entries()) {
        row.set(names?.[index] ?? index + 1, field)
        if ((index + 1) % fieldsPerPause === 0) yield pause
      }
      count += 1
      rows.set(count, row)
    }
    return rows
  },

  encode,
}

function separatorOf(options: LuaValue): number {
  const given = option(options, 'separator')
  if (given === undefined) return 0x2c
  const bytes = bytesArgument(given, 'the option separator')
  const [separator = 0] = bytes
  if (bytes.length !== 1 || separator === quote || separator === lineFeed || separator === carriageReturn)
    throw new Error(
      'the option separator must be one character of ASCII, and neither a quotation mark nor a line end',
    )
  return separator
}

/** A line with its number, from 1; from time to time one without fields, where to pause. */
interface Line {
  fields?: Uint8Array[]
  line: number
}

function* linesOf(bytes: Uint8Array, separator: number): Generator<Line> {
  let at = byteOrderMark.every((byte, index) => bytes[index] === byte) ? byteOrderMark.length : 0
  let line = 1
  let read = 0
  const count = createValueCount()
  while (at < bytes.length) {
    count(valuesOfRow)
    const began = line
    const fields: Uint8Array[] = []
    for (;;) {
      count(1)
      read += 1
      if (read % fieldsPerPause === 0) yield { line }
      const isQuoted = bytes[at] === quote
      const { field, end, lines } = isQuoted
        ? quotedField(bytes, at, line)
        : plainField(bytes, at, separator, line)
      fields.push(field)
      line += lines
      at = end
      if (bytes[at] !== separator || at >= bytes.length) break
      at += 1
    }
    if (bytes[at] === carriageReturn && bytes[at + 1] === lineFeed) at += 1
    if (at < bytes.length && bytes[at] !== lineFeed)
      throw new Error(`line ${line}: there is something behind the closing quotation mark`)
    at += 1
    line += 1
    yield { fields, line: began }
  }
}

interface Field {
  field: Uint8Array
  end: number
  /** Line ends in it. */
  lines: number
}

function plainField(bytes: Uint8Array, start: number, separator: number, line: number): Field {
  let end = start
  for (; end < bytes.length; end += 1) {
    const byte = bytes[end]
    if (byte === separator || byte === lineFeed) break
    if (byte === carriageReturn && bytes[end + 1] === lineFeed) break
    if (byte === quote)
      throw new Error(`line ${line}: a field with a quotation mark in it must stand in some`)
  }
  return { field: bytes.subarray(start, end), end, lines: 0 }
}

function quotedField(bytes: Uint8Array, start: number, line: number): Field {
  let lines = 0
  let doubled = 0
  for (let at = start + 1; at < bytes.length; at += 1) {
    if (bytes[at] === lineFeed) lines += 1
    if (bytes[at] !== quote) continue
    if (bytes[at + 1] !== quote) {
      const content = bytes.subarray(start + 1, at)
      return { field: doubled === 0 ? content : withoutDoubled(content, doubled), end: at + 1, lines }
    }
    doubled += 1
    at += 1
  }
  throw new Error(`line ${line}: a closing quotation mark is missing`)
}

/** Two quotation marks are one. */
function withoutDoubled(content: Uint8Array, doubled: number): Uint8Array {
  const field = new Uint8Array(content.length - doubled)
  let from = 0
  for (let to = 0; to < field.length; to += 1) {
    const byte = content[from] ?? 0
    field[to] = byte
    from += byte === quote ? 2 : 1
  }
  return field
}

function* encode(context: FormatContext, rows: LuaValue, options: LuaValue): Steps<LuaValue> {
  if (!isTable(rows)) throw new Error(`the rows must be a table, not ${typeName(rows)}`)
  const separator = String.fromCharCode(separatorOf(options))
  const budget = context.byteBudget()
  const special = new RegExp(
    `["\\r\\n${separator === '\\' || separator === ']' || separator === '^' ? `\\${separator}` : separator}]`,
  )
  const wanted = option(options, 'header')
  const names = isTruthy(wanted) ? yield* columnsOf(rows, wanted) : undefined
  const texts: string[] = []
  let values = 0
  const write = (fields: readonly string[]): void => {
    const [only = ''] = fields
    // A line with one empty field would else be an empty line.
    const line =
      fields.length === 1 && only === ''
        ? '""'
        : fields.map((field) => quoted(field, special)).join(separator)
    budget.spend(line.length + 2)
    texts.push(line, '\r\n')
  }
  if (names !== undefined) write(names)
  for (let index = 1; index <= rows.length; index += 1) {
    const row = rowAt(rows, index)
    const places = names ?? Array.from({ length: row.length }, (_, place) => place + 1)
    write(
      places.map((place) => fieldText(row.get(typeof place === 'string' ? fromLatin1(place) : place), index)),
    )
    values += places.length + 1
    if (values < fieldsPerPause) continue
    values = 0
    yield pause
  }
  return Buffer.from(texts.join(''), 'latin1')
}

function rowAt(rows: LuaTable, index: number): LuaTable {
  const row = rows.get(index)
  if (!isTable(row)) throw new Error(`row ${index} must be a table, not ${typeName(row)}`)
  return row
}

/** The names that `header` lists, or all that the rows have, in order. One character a byte, as everywhere here. */
function* columnsOf(rows: LuaTable, wanted: LuaValue): Steps<string[]> {
  const names = new Set<string>()
  if (isTable(wanted)) {
    for (let index = 1; index <= wanted.length; index += 1) names.add(fieldText(wanted.get(index), 0))
    return [...names]
  }
  for (let index = 1; index <= rows.length; index += 1) {
    for (const [key] of rowAt(rows, index).entries()) names.add(fieldText(key, index))
    if (index % fieldsPerPause === 0) yield pause
  }
  return [...names].sort()
}

function fieldText(value: LuaValue, row: number): string {
  if (value === undefined) return ''
  if (value instanceof Uint8Array) return toLatin1(value)
  if (typeof value === 'number') return numberText(value)
  const text = typeof value === 'boolean' ? String(value) : optionalText(value)
  if (text === undefined) throw new Error(`row ${row} has a ${typeName(value)}, which is no text`)
  return text
}

function quoted(field: string, special: RegExp): string {
  return special.test(field) ? `"${field.replaceAll('"', '""')}"` : field
}
