import Type, { type Static } from 'typebox'
import { SuggestionKind } from './field-definition.ts'
import { nullable } from '../parsing/nullable.ts'

/** Something that the host knows, to choose from in a form. */
export const Suggestion = Type.Object({
  value: Type.String(),
  label: nullable(Type.String(), { description: 'Whose it is, or what it means' }),
})
export type Suggestion = Static<typeof Suggestion>

export const SuggestionsQuery = Type.Object({ kind: SuggestionKind })
export const SuggestionsAnswer = Type.Object({ suggestions: Type.Array(Suggestion) })
