import { isDeepStrictEqual } from 'node:util'
import { isJsonObject } from '../../base/text/json.ts'
import type { ProblemDetail } from '../../base/problem.ts'
import type { ChangeCheck } from '../../schema/plugin/change-check.ts'
import { allFields, type Field } from '../../schema/manifest/field.ts'
import { escapePointer } from '../../schema/parsing/json-pointer.ts'
import type { Config } from '../../schema/plugin/plugin.ts'
import { rowsOfText } from '../manifests/rows-of-text.ts'

/** What other fields do to what is stored in lists and objects. Pure. */

type Changes = ChangeCheck['fields']

/** Names of what is new, gone or different; each in the order in which they stand. */
export function changesOf(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): Changes {
  const names = Object.keys(after)
  return {
    added: names.filter((name) => !Object.hasOwn(before, name)),
    removed: Object.keys(before).filter((name) => !Object.hasOwn(after, name)),
    changed: names.filter(
      (name) => Object.hasOwn(before, name) && !isDeepStrictEqual(before[name], after[name]),
    ),
  }
}

/** The same of fields, by their paths (`rules[].to`). What is within a new or a gone one is not named by itself. */
export function fieldChanges(before: readonly Field[], after: readonly Field[]): Changes {
  const { added, removed, changed } = changesOf(byPath(before), byPath(after))
  return { added: outermost(added), removed: outermost(removed), changed }
}

function byPath(fields: readonly Field[]): Record<string, unknown> {
  return Object.fromEntries(
    allFields(fields).map(({ path, field: { items: _items, fields: _fields, ...own } }) => [path, own]),
  )
}

function outermost(paths: readonly string[]): string[] {
  return paths.filter(
    (path) => !paths.some((other) => path.startsWith(`${other}.`) || path.startsWith(`${other}[]`)),
  )
}

/** A stored value, and what the plugin would get of it. */
type Pair = readonly [stored: unknown, effective: unknown]

/** One sentence for each thing that happens to stored rows and members, without its subject: the setting at `path`. */
export function storedRowChanges(
  before: readonly Field[],
  after: readonly Field[],
  stored: Config,
  effective: Config,
): ProblemDetail[] {
  return after.flatMap((field) => {
    const value = Object.hasOwn(stored, field.key) ? stored[field.key] : undefined
    if (value === undefined || value === null) return []
    const path = `/config/${escapePointer(field.key)}`
    const old = before.find(({ key }) => key === field.key)
    const carried = typeof value === 'string' ? rowsOfText(field, value) : undefined
    const messages =
      carried === undefined
        ? within(old, field, [[value, effective[field.key]]], '')
        : [`is read as ${countOf(carried.rows.length)}, from the text that is stored`, ...carried.unread]
    return messages.map((message) => ({ path, message }))
  })
}

/** `name`: how the field is called below the one that is told of. */
function within(before: Field | undefined, after: Field, pairs: readonly Pair[], name: string): string[] {
  if (before?.type !== after.type || (after.type !== 'list' && after.type !== 'object')) return []
  const values = after.type === 'list' ? pairs.flatMap(rowsIn) : pairs
  if (after.items !== null && before.items !== null) return within(before.items, after.items, values, name)
  const rows = values.filter(([stored]) => isJsonObject(stored))
  const prefix = name === '' ? '' : `${name}.`
  const old = before.fields ?? []
  const fields = after.fields ?? []
  return [
    ...fields.flatMap((field) => {
      const was = old.find(({ key }) => key === field.key)
      const column = `${prefix}${field.key}`
      return [
        ...filled(was, field, rows, column),
        ...within(was, field, rows.map(memberOf(field.key)), column),
      ]
    }),
    ...old
      .filter(({ key }) => !fields.some((field) => field.key === key))
      .flatMap(({ key }) => {
        const keeping = rows.map(memberOf(key)).filter(([stored]) => stored !== undefined)
        const text = `keeps ${prefix}${key} in ${countOf(keeping.length)}, where nothing reads it any more`
        return keeping.length === 0 ? [] : [text]
      }),
  ]
}

/** Of a column that is new, or has another default. */
function filled(before: Field | undefined, after: Field, rows: readonly Pair[], column: string): string[] {
  if (after.default === null || isDeepStrictEqual(before?.default, after.default)) return []
  const count = rows
    .map(memberOf(after.key))
    .filter(([stored, effective]) => stored === undefined && effective !== undefined).length
  if (count === 0) return []
  const shown = after.secret ? 'a secret of its author' : JSON.stringify(after.default)
  return [
    `gets ${column} ${shown} in ${countOf(count)}${before === undefined ? '' : ', where nothing is set'}`,
  ]
}

function rowsIn([stored, effective]: Pair): Pair[] {
  if (!Array.isArray(stored)) return []
  return stored.map((row: unknown, index) => [
    row,
    Array.isArray(effective) ? (effective[index] as unknown) : undefined,
  ])
}

function memberOf(key: string): (pair: Pair) => Pair {
  const of = (value: unknown): unknown =>
    isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  return ([stored, effective]) => [of(stored), of(effective)]
}

function countOf(count: number): string {
  return `${count} ${count === 1 ? 'row' : 'rows'}`
}
