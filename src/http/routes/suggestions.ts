import type { LifecycleFacade } from '../../lifecycle/facade.ts'
import { SuggestionsAnswer, SuggestionsQuery } from '../../schema/manifest/suggestion.ts'
import { defineRoute, type Route } from '../route.ts'

export function suggestionRoutes(lifecycle: LifecycleFacade): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/suggestions',
      summary: 'What the host knows of one kind, for the settings of plugins to choose from',
      query: SuggestionsQuery,
      answers: { 200: SuggestionsAnswer },
      handle: async ({ query }) => ({ body: { suggestions: await lifecycle.suggestions(query.kind) } }),
    }),
  ]
}
