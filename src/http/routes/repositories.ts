import type { LifecycleFacade } from '../../lifecycle/facade.ts'
import { runCooperatively, type Steps } from '../../base/time/cooperative-steps.ts'
import {
  CatalogAnswer,
  type CatalogEntry,
  CatalogQuery,
  RepositoriesAnswer,
  RepositoryBody,
} from '../../schema/api/api.ts'
import { jsonList } from '../answers/json-list.ts'
import { type Answer, defineRoute, type Route } from '../route.ts'

/** As JSON, one by one: there may be thousands. */
function* textsOf(plugins: readonly CatalogEntry[]): Steps<string[]> {
  const texts: string[] = []
  for (const plugin of plugins) {
    yield
    texts.push(JSON.stringify(plugin))
  }
  return texts
}

/** Where plugins come from, and what is offered there. */
export function repositoryRoutes(lifecycle: LifecycleFacade): Route[] {
  const path = '/api/repositories'
  const all = async (): Promise<Answer> => ({ body: { repositories: await lifecycle.repositories() } })
  return [
    defineRoute({
      method: 'GET',
      path,
      summary: 'Lists the repositories',
      answers: { 200: RepositoriesAnswer },
      handle: all,
    }),
    defineRoute({
      method: 'POST',
      path,
      summary: 'Adds a repository, or gives one of this name another address, or a key',
      body: RepositoryBody,
      answers: { 201: RepositoriesAnswer },
      answerHeaders: { Location: 'Address of the repository' },
      problems: [
        'repository_pinned',
        'signature_invalid',
        'repository_unreachable',
        'shutting_down',
        'storage_full',
      ],
      async handle({ body, requestKey }) {
        await lifecycle.addRepository(body, { by: 'http', requestKey })
        const headers = { Location: `${path}/${encodeURIComponent(body.name)}` }
        return { ...(await all()), status: 201, headers }
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: `${path}/:name`,
      summary: 'Forgets a repository; plugins that came from it stay',
      answers: { 200: RepositoriesAnswer },
      problems: ['repository_unknown', 'shutting_down', 'storage_full'],
      async handle({ parameters }) {
        await lifecycle.removeRepository(parameters.name ?? '', { by: 'http' })
        return all()
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/catalog',
      summary: 'What all repositories offer',
      query: CatalogQuery,
      answers: { 200: CatalogAnswer },
      problems: ['repository_unknown'],
      async handle({ query: { q, repository } }) {
        const plugins = await lifecycle.catalog({ text: q, repository })
        return { body: { plugins }, json: jsonList('plugins', await runCooperatively(textsOf(plugins))) }
      },
    }),
  ]
}
