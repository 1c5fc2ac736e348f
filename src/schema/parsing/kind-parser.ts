import Type, { type Static, type TLiteral, type TObject, type TProperties } from 'typebox'
import { createParser, type Parsed } from './parser.ts'

/** Objects of which the `kind` says what other members they have. */
export type OfKinds<M extends Record<string, TProperties>> = {
  [K in keyof M & string]: Static<TObject<{ kind: TLiteral<K> } & M[K]>>
}[keyof M & string]

/** `members`: those besides `kind`, by kind. */
export function createKindParser<M extends Record<string, TProperties>>(
  members: M,
): (value: unknown) => Parsed<OfKinds<M>> {
  const parsers = new Map(
    Object.entries(members).map(([kind, own]) => [
      kind,
      createParser(Type.Object({ kind: Type.Literal(kind), ...own })),
    ]),
  )
  return (value) => {
    const kind = typeof value === 'object' && value !== null && 'kind' in value ? value.kind : undefined
    const parse = typeof kind === 'string' ? parsers.get(kind) : undefined
    if (parse === undefined) return { ok: false, errors: [{ path: '/kind', message: 'is not a known kind' }] }
    return parse(value) as Parsed<OfKinds<M>>
  }
}
