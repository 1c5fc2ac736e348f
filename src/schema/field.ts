import Type, { type Static } from 'typebox'
import { FieldType } from './manifest.ts'

/** One configuration field, the normalised form of an entry of `configSchema` or `config`. */
export const Field = Type.Object({
  key: Type.String(),
  type: Type.Union([FieldType, Type.Null()], { description: 'null: any of `enum`' }),
  label: Type.String(),
  description: Type.Union([Type.String(), Type.Null()]),
  required: Type.Boolean(),
  default: Type.Unknown({ description: 'Already of the type of the field; null when there is none' }),
  min: Type.Union([Type.Number(), Type.Null()]),
  max: Type.Union([Type.Number(), Type.Null()]),
  enum: Type.Union([Type.Array(Type.Unknown()), Type.Null()]),
  env: Type.Union([Type.String(), Type.Null()]),
  secret: Type.Boolean(),
})
export type Field = Static<typeof Field>
