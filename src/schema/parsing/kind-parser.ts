import type { TSchema } from 'typebox'
import { createParser, type Parsed } from './parser.ts'

/** A parser of objects that have a schema by their `kind`. */
export function createKindParser<T>(schemas: Record<string, TSchema>): (value: unknown) => Parsed<T> {
  const parsers = new Map(Object.entries(schemas).map(([kind, schema]) => [kind, createParser(schema)]))
  return (value) => {
    const kind = typeof value === 'object' && value !== null && 'kind' in value ? value.kind : undefined
    const parse = typeof kind === 'string' ? parsers.get(kind) : undefined
    if (parse === undefined) return { ok: false, errors: [{ path: '/kind', message: 'is not a known kind' }] }
    return parse(value) as Parsed<T>
  }
}
