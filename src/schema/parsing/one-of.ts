import Type, { type TSchemaOptions } from 'typebox'

/** One of these texts. */
export function oneOf<const T extends string>(texts: readonly T[], options?: TSchemaOptions) {
  return Type.Unsafe<T>(
    Type.Union(
      texts.map((text) => Type.Literal(text)),
      options,
    ),
  )
}
