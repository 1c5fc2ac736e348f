import Type, { type Static } from 'typebox'
import { FieldType, SuggestionKind } from './field-definition.ts'
import { nullable } from '../parsing/nullable.ts'

const Text = nullable(Type.String())
const Count = nullable(Type.Integer())
/** A field within a field: the named schema of the API's description. */
const Nested = { $ref: '#/components/schemas/Field' }

const FieldMembers = Type.Object({
  key: Type.String({ description: 'Empty for what a list holds' }),
  type: nullable(FieldType, { description: 'null: any of `enum`' }),
  label: Type.String(),
  description: Text,
  required: Type.Boolean(),
  default: Type.Unknown({ description: 'Already of the type of the field; null when there is none' }),
  min: nullable(Type.Number()),
  max: nullable(Type.Number()),
  enum: nullable(Type.Array(Type.Unknown())),
  env: Text,
  secret: Type.Boolean(),
  items: Type.Unsafe<Field | null>({
    anyOf: [Nested, { type: 'null' }],
    description: 'What each value of a list is; null: its rows have `fields`',
  }),
  fields: Type.Unsafe<Field[] | null>({
    anyOf: [{ type: 'array', items: Nested }, { type: 'null' }],
    description: 'Members of an object, or columns of a list',
  }),
  minItems: Count,
  maxItems: Count,
  suggest: nullable(SuggestionKind),
  placeholder: Text,
  unit: Text,
  group: Text,
  advanced: nullable(Type.Boolean()),
  showIf: nullable(Type.Record(Type.String(), Type.Unknown()), {
    description: 'Values that fields beside it must have for it to be shown; of a list, one of them',
  }),
  lines: nullable(Type.Array(Type.String()), {
    description: 'How a text with one row a line is read as the rows of this list',
  }),
})

/** One configuration field, the normalised form of an entry of `configSchema` or `config`. */
export interface Field extends Omit<Static<typeof FieldMembers>, 'items' | 'fields'> {
  items: Field | null
  fields: Field[] | null
}
export const Field = Type.Unsafe<Field>(FieldMembers)

/** One setting, wherever it is. */
export interface PlacedField {
  field: Field
  /** As permissions name it: `url`, `broker.password`, `rules[].from`. */
  path: string
}

/** All fields with those within them. */
export function allFields(fields: readonly Field[], path = ''): PlacedField[] {
  return fields.flatMap((field) => {
    const own = pathOf(field, path)
    return [
      { field, path: own },
      ...allFields(field.items === null ? (field.fields ?? []) : [field.items], below(field, own)),
    ]
  })
}

/** The same fields, at any depth, each changed. */
export function mapFields(
  fields: readonly Field[],
  change: (field: Field, path: string) => Field,
  path = '',
): Field[] {
  return fields.map((field) => {
    const own = pathOf(field, path)
    const { items, fields: members } = field
    const changed = (within: readonly Field[]): Field[] => mapFields(within, change, below(field, own))
    return {
      ...change(field, own),
      items: items === null ? null : (changed([items])[0] ?? null),
      fields: members === null ? null : changed(members),
    }
  })
}

function pathOf({ key }: Field, path: string): string {
  return path === '' || key === '' ? `${path}${key}` : `${path}.${key}`
}

function below({ type }: Field, path: string): string {
  return type === 'list' ? `${path}[]` : path
}
