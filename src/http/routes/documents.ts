import { extname } from 'node:path'
import { lazyImport } from '../../base/lazy-import.ts'
import type { LifecycleFacade } from '../../lifecycle/facade.ts'
import { DocumentQuery } from '../../schema/api/api.ts'
import { plainDocument } from '../answers/document-answer.ts'
import { defineRoute, type Route } from '../route.ts'
import { pluginIdOf } from './plugin-route.ts'

/** Loaded when somebody reads a document. */
const renderer = lazyImport(() => import('../answers/rendered-document.ts'))

export function documentRoutes(lifecycle: LifecycleFacade): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/plugins/:id/doc',
      summary: 'A document that the manifest lists',
      query: DocumentQuery,
      answers: { 200: null },
      produces: ['text/markdown', 'text/html', 'text/plain', 'application/octet-stream'],
      problems: ['plugin_not_installed', 'ambiguous_id', 'doc_not_found'],
      async handle({ context, parameters, query }) {
        const document = await lifecycle.document(pluginIdOf(lifecycle, parameters), query.file)
        if (query.render === 'html') {
          const { renderedDocument } = await renderer()
          return renderedDocument(document)
        }
        context.type = extname(document.file)
        return plainDocument(document, context.response.get('Content-Type') || 'application/octet-stream')
      },
    }),
  ]
}
