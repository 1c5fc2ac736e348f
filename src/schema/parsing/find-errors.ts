import type { TSchema } from 'typebox'
import type { ProblemDetail } from '../../base/problem.ts'
import { escapePointer } from './json-pointer.ts'

/**
 * Values of one text in which it is looked for what is wrong: to find it takes a hundred times as long as to see that
 * something is, and a megabyte has hundreds of thousands.
 */
const searchedValues = 5_000

/** How much more may be looked through; for all parts of one text together. */
export interface ErrorSearch {
  values: number
}

export function createErrorSearch(): ErrorSearch {
  return { values: searchedValues }
}

export interface SchemaChecks {
  /** Whether `value` fits. Quick. */
  fits(schema: TSchema, value: unknown): boolean
  /** All that is wrong in `value`. Slow. */
  errorsOf(schema: TSchema, value: unknown): ProblemDetail[]
}

interface Part {
  step: string
  schema: TSchema
  value: unknown
}

/**
 * What is wrong in `value`, which does not fit. Of a large one the parts that fit are left aside; where too much is left, it
 * is said which part is wrong, and not why.
 */
export function* findErrors(
  schema: TSchema,
  value: unknown,
  search: ErrorSearch,
  questions: SchemaChecks,
): Iterable<ProblemDetail> {
  const size = countValues(value, search.values)
  if (size <= search.values) {
    search.values -= size
    yield* questions.errorsOf(schema, value)
    return
  }
  const whole = ofWhole(schema, value)
  const broken = partsOf(schema, value).filter((part) => !questions.fits(part.schema, part.value))
  yield* whole
  if (broken.length + whole.length > 0 && search.values > 0) {
    for (const part of broken)
      for (const { path, message } of findErrors(part.schema, part.value, search, questions))
        yield { path: `/${escapePointer(part.step)}${path}`, message }
  } else yield { path: '', message: 'is not as it must be, and too large to tell more' }
}

/** What is seen without a look at any part. */
function ofWhole(schema: TSchema, value: unknown): ProblemDetail[] {
  if (typeof value !== 'object' || value === null) return []
  const {
    type,
    required = [],
    properties = {},
    maxItems = Number.POSITIVE_INFINITY,
  } = schema as {
    type?: string
    required?: string[]
    properties?: Record<string, TSchema>
    maxItems?: number
  }
  const found = Array.isArray(value) ? 'array' : 'object'
  if (type !== undefined && type !== found) return [{ path: '', message: `must be ${type}` }]
  if (Array.isArray(value))
    return value.length > maxItems ? [{ path: '', message: `must not have more than ${maxItems} items` }] : []
  const missing = required.filter((name) => !Object.hasOwn(value, name))
  const unknown = isStrict(schema)
    ? Object.keys(value).filter((name) => !Object.hasOwn(properties, name))
    : []
  return [
    ...missing.map((name) => ({ path: `/${escapePointer(name)}`, message: 'is required' })),
    ...unknown.map((name) => ({ path: `/${escapePointer(name)}`, message: 'is not known here' })),
  ]
}

/** Whether an object may have no other members than those that are named. */
function isStrict(schema: TSchema): boolean {
  return (
    'properties' in schema &&
    !('patternProperties' in schema) &&
    Reflect.get(schema, 'additionalProperties') === false
  )
}

/** With all that is within, or more than `most`. */
function countValues(value: unknown, most: number): number {
  let count = 1
  if (typeof value !== 'object' || value === null) return count
  for (const member of Object.values(value)) {
    if (count > most) break
    count += countValues(member, most - count)
  }
  return count
}

/** Members or items with a schema of their own; none of a schema that says more of the whole. */
function partsOf(schema: TSchema, value: unknown): Part[] {
  if (typeof value !== 'object' || value === null) return []
  if ('additionalProperties' in schema && !isStrict(schema)) return []
  if (Array.isArray(value)) {
    const { items, maxItems = Number.POSITIVE_INFINITY } = schema as { items?: TSchema; maxItems?: number }
    if (items === undefined || value.length > maxItems) return []
    return value.map((item: unknown, index) => ({ step: String(index), schema: items, value: item }))
  }
  const { properties, patternProperties } = schema as Record<string, Record<string, TSchema> | undefined>
  const [ofAll] = Object.values(patternProperties ?? {})
  return Object.entries(value).flatMap(([step, member]) => {
    const own = properties !== undefined && Object.hasOwn(properties, step) ? properties[step] : ofAll
    return own === undefined ? [] : [{ step, schema: own, value: member as unknown }]
  })
}
