import { isShown } from '../../../schema/manifest/show-if.ts'
import { escapePointer } from '../../../schema/parsing/json-pointer.ts'
import type { Field } from '../../base/types.ts'

/** Where a setting is, as a pointer (`/config/rules/1/to`). Pure. */

export type Values = Readonly<Record<string, unknown>>

export function pointerTo(path: string, key: string | number): string {
  return `${path}/${escapePointer(String(key))}`
}

/** Whether a pointer is this place, or one within it. */
export function isWithin(pointer: string, place: string): boolean {
  return pointer === place || pointer.startsWith(`${place}/`)
}

/** The fields to be seen beside one another, with what is typed. */
export function shownFields(fields: readonly Field[], values: Values): Field[] {
  const beside = Object.fromEntries(
    fields.map((field) => [field.key, values[field.key] ?? field.default ?? undefined]),
  )
  return fields.filter((field) => isShown(field, { ...values, ...beside }))
}

interface Section {
  /** Null: under no heading. */
  group: string | null
  fields: Field[]
  /** Folded away. */
  advanced: Field[]
}

/** Fields of one group together, where the first of them stands. */
export function sectionsOf(fields: readonly Field[]): Section[] {
  const sections: Section[] = []
  for (const field of fields) {
    const last = sections.at(-1)
    const own =
      field.group === null
        ? last?.group === null
          ? last
          : undefined
        : sections.find(({ group }) => group === field.group)
    const section = own ?? { group: field.group, fields: [], advanced: [] }
    if (own === undefined) sections.push(section)
    ;(field.advanced === true ? section.advanced : section.fields).push(field)
  }
  return sections
}

/** What the rows of a list are made of; null: it is a list of values. */
export function columnsOf({ items, fields }: Field): Field[] | null {
  return fields ?? (items?.type === 'object' ? (items.fields ?? []) : null)
}

/** What a new row begins as. */
export function emptyRow(list: Field): unknown {
  if (columnsOf(list) !== null) return {}
  if (list.items?.type === 'list') return []
  if (list.items?.type === 'boolean') return list.items.default ?? false
  return list.items?.default ?? list.items?.enum?.[0] ?? ''
}

export function objectOf(value: unknown): Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Values) : {}
}

/** The same with one member changed in its place; undefined: without it. */
export function withMember(values: Values, key: string, value: unknown): Values {
  const members = new Map(Object.entries(values))
  if (value === undefined) members.delete(key)
  else members.set(key, value)
  return Object.fromEntries(members)
}
