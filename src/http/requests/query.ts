import type { ParsedUrlQuery } from 'node:querystring'
import type { Static, TObject } from 'typebox'
import { Problem, type ProblemDetail } from '../../base/problem.ts'
import { createParser } from '../../schema/parsing/parser.ts'

/**
 * Reads the query of an address by a schema. Numbers are turned into numbers first, because an address holds
 * only text. Parameters that the schema does not name are ignored: proxies and browsers add their own.
 * Throws `body_invalid` that names every bad parameter.
 */
export function createQueryParser<S extends TObject>(schema: S): (query: ParsedUrlQuery) => Static<S> {
  const parse = createParser(schema)
  const properties = Object.entries(schema.properties)
  return (query) => {
    const repeated: ProblemDetail[] = []
    const values: Record<string, unknown> = {}
    for (const [name, property] of properties) {
      const given = query[name]
      if (Array.isArray(given)) repeated.push({ path: `/${name}`, message: 'is given more than once' })
      else if (given !== undefined) values[name] = isInteger(property) ? toNumber(given) : given
    }
    const parsed = parse(values)
    // One that is given twice is there, whatever the schema finds without it.
    const isRepeated = ({ path }: ProblemDetail): boolean => repeated.some((other) => other.path === path)
    const others = parsed.ok ? [] : parsed.errors.filter((error) => !isRepeated(error))
    const errors = [...repeated, ...others]
    if (parsed.ok && errors.length === 0) return parsed.value
    const names = [...new Set(errors.map(({ path }) => path.slice(1)))].join(', ')
    throw new Problem('body_invalid', `The address has a bad value for: ${names}.`, { errors })
  }
}

function isInteger(property: object): boolean {
  return 'type' in property && property.type === 'integer'
}

/** The text itself when it is no number in digits, so that the schema refuses it. */
function toNumber(text: string): number | string {
  return /^-?\d+$/.test(text) ? Number(text) : text
}
