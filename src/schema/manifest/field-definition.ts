import Type, { type Static } from 'typebox'
import { isJsonObject } from '../../base/text/json.ts'
import type { ProblemDetail } from '../../base/problem.ts'
import type { ErrorSearch } from '../parsing/find-errors.ts'
import { createParser, type Parser } from '../parsing/parser.ts'
import { oneOf } from '../parsing/one-of.ts'

/** A setting as a manifest describes it: an entry of `configSchema`, or a definition of `config`. */

/** Lists and objects within one another. A form of more is one that nobody can follow. */
const fieldDepthLimit = 4
/** Of `configSchema`, and of `config`, with all that is within: far more than a person fills in. */
export const settingsLimit = 1_000

export const FieldType = oneOf([
  'string',
  'text',
  'password',
  'number',
  'integer',
  'boolean',
  'select',
  'list',
  'object',
])
export type FieldType = Static<typeof FieldType>

/** What the form offers, of what the host knows; `value`: a sensor or a control. */
export const SuggestionKind = oneOf([
  'topic',
  'plugin',
  'object',
  'sensor',
  'control',
  'value',
  'event',
  'host',
  'serial',
])
export type SuggestionKind = Static<typeof SuggestionKind>

const count = { minimum: 0, maximum: Number.MAX_SAFE_INTEGER }
const text = (description: string) => Type.Optional(Type.String({ description }))
const flag = (description: string) => Type.Optional(Type.Boolean({ description }))

const fieldMembers = {
  type: Type.Optional(FieldType),
  label: text('Label in the form; the key when there is none'),
  description: text('A hint below the field'),
  required: flag('Without a value the plugin is not loaded'),
  default: Type.Optional(
    Type.Unknown({ description: 'Used when nothing is set; for numbers and booleans a string will do' }),
  ),
  min: Type.Optional(Type.Number({ description: 'Smallest number allowed' })),
  max: Type.Optional(Type.Number({ description: 'Largest number allowed' })),
  enum: Type.Optional(Type.Array(Type.Unknown(), { description: 'The only values allowed' })),
  env: text('Environment variable of the host that is read when nothing is set; empty: none'),
  secret: flag('Hidden in answers and logs'),
  items: Type.Optional(
    Type.Unsafe<ConfigDefinition>(
      Type.Unknown({ description: 'Of a list: what each of its values is, as a field without a key' }),
    ),
  ),
  fields: Type.Optional(
    Type.Unsafe<ConfigSchemaEntry[]>(
      Type.Array(Type.Unknown(), {
        description: 'Of an object: its members; of a list: the columns of its rows. Fields, each with a key',
      }),
    ),
  ),
  minItems: Type.Optional(Type.Integer({ ...count, description: 'Fewest values or rows of a list' })),
  maxItems: Type.Optional(Type.Integer({ ...count, description: 'Most values or rows of a list' })),
  suggest: Type.Optional(SuggestionKind),
  placeholder: text('An example in the empty field'),
  unit: text('What a number is in, behind the field'),
  group: text('Heading that it stands under, with others of its group'),
  advanced: flag('Folded away until somebody asks for it'),
  showIf: Type.Optional(
    Type.Unsafe<Record<string, unknown>>(
      Type.Object(
        {},
        { description: 'Values that fields beside it must have for it to be shown; of a list, one of them' },
      ),
    ),
  ),
  lines: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 500 }), {
      maxItems: 20,
      description: 'Of a list that was a text with one rule a line: how such lines are read',
    }),
  ),
}

const DefinitionMembers = Type.Object(fieldMembers)
const EntryMembers = Type.Object({
  key: Type.String({ minLength: 1, description: 'Key in the config object' }),
  ...fieldMembers,
})

type Members = Omit<Static<typeof DefinitionMembers>, 'items' | 'fields'>
/** `items` and `fields` hold more of the same; what they are is checked by `nestedFieldErrors`. */
export interface ConfigDefinition extends Members {
  items?: ConfigDefinition
  fields?: ConfigSchemaEntry[]
}
export interface ConfigSchemaEntry extends ConfigDefinition {
  key: string
}

export const ConfigDefinition = Type.Unsafe<ConfigDefinition>(DefinitionMembers)
export const ConfigSchemaEntry = Type.Unsafe<ConfigSchemaEntry>(EntryMembers)

const parseDefinition = createParser(ConfigDefinition)
const parseEntry = createParser(ConfigSchemaEntry)

/**
 * What the schema cannot say of a field: all that is wrong in its `items` and `fields`, at any depth. One by one, for
 * there may be hundreds of thousands.
 */
export function* nestedFieldErrors(
  field: unknown,
  path: string,
  search: ErrorSearch,
): Iterable<ProblemDetail> {
  if (!isJsonObject(field)) return
  const { items, fields } = field
  if (items !== undefined) yield* errorsOf(parseDefinition, items, `${path}/items`, search)
  const below = Array.isArray(fields) ? fields : []
  for (const [index, entry] of below.entries())
    yield* errorsOf(parseEntry, entry, `${path}/fields/${index}`, search)
}

function* errorsOf(
  parse: Parser<unknown>,
  field: unknown,
  path: string,
  search: ErrorSearch,
): Iterable<ProblemDetail> {
  const parsed = parse(field, search)
  if (!parsed.ok) for (const error of parsed.errors) yield { ...error, path: `${path}${error.path}` }
  yield* nestedFieldErrors(field, path, search)
}

/** With those within lists and objects. */
export function countSettings(definitions: readonly ConfigDefinition[]): number {
  return definitions.reduce(
    (sum, { items, fields = [] }) =>
      sum + 1 + countSettings(items === undefined ? fields : [items, ...fields]),
    0,
  )
}

/** Keys that meet, at any depth, and lists and objects that nest too deep. */
export function entriesErrors(entries: readonly ConfigSchemaEntry[], path: string): ProblemDetail[] {
  return [
    ...repeatedKeys(entries, path),
    ...entries.flatMap((entry, index) => definitionErrors(entry, `${path}/${index}`)),
  ]
}

/** The same of one field. `depth`: lists and objects that it is in. */
export function definitionErrors(definition: ConfigDefinition, path: string, depth = 0): ProblemDetail[] {
  const { type, items, fields = [] } = definition
  const nests = type === 'list' || type === 'object'
  if (nests && depth === fieldDepthLimit) {
    const message = `is a list or an object in ${fieldDepthLimit} others; ${fieldDepthLimit} is the limit`
    return [{ path: `${path}/type`, message }]
  }
  const inner = nests ? depth + 1 : depth
  return [
    ...(items === undefined ? [] : definitionErrors(items, `${path}/items`, inner)),
    ...repeatedKeys(fields, `${path}/fields`),
    ...fields.flatMap((entry, index) => definitionErrors(entry, `${path}/fields/${index}`, inner)),
  ]
}

/** Lists that do not say what they hold, or twice, at any depth: any value is taken then, or `fields` counts. */
export function definitionWarnings(definition: ConfigDefinition, path: string): ProblemDetail[] {
  const { type, items, fields } = definition
  const within = [
    ...(items === undefined ? [] : definitionWarnings(items, `${path}/items`)),
    ...(fields ?? []).flatMap((entry, index) => definitionWarnings(entry, `${path}/fields/${index}`)),
  ]
  if (type !== 'list') return within
  if (items === undefined && fields === undefined)
    return [{ path, message: 'is a list with neither items nor fields; any value is taken in it' }, ...within]
  if (items === undefined || fields === undefined) return within
  return [{ path: `${path}/items`, message: 'stands beside fields; it is left out' }, ...within]
}

function repeatedKeys(entries: readonly ConfigSchemaEntry[], path: string): ProblemDetail[] {
  const keys = new Set<string>()
  return entries.flatMap(({ key }, index) => {
    const message = `"${key}" is there twice`
    return keys.has(key) ? [{ path: `${path}/${index}/key`, message }] : (keys.add(key), [])
  })
}

/** For editors: nested fields refer to these, below `#/$defs/` of the document. */
export const fieldDefinitions: Readonly<Record<'definition' | 'entry', { properties: object }>> = {
  definition: withReferences(DefinitionMembers),
  entry: withReferences(EntryMembers),
}

/** The schema of one field, where `items` and `fields` lead to `fieldDefinitions`. */
function withReferences(schema: { properties: object }): { properties: object } {
  const plain = JSON.parse(JSON.stringify(schema)) as { properties: Record<string, object> }
  return {
    ...plain,
    properties: {
      ...plain.properties,
      items: { ...plain.properties.items, $ref: '#/$defs/definition' },
      fields: { ...plain.properties.fields, items: { $ref: '#/$defs/entry' } },
    },
  }
}
