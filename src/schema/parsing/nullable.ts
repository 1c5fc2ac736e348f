import Type, { type TSchema, type TSchemaOptions } from 'typebox'

/** A value of the schema, or null. */
export function nullable<S extends TSchema>(schema: S, options?: TSchemaOptions) {
  return Type.Union([schema, Type.Null()], options)
}
