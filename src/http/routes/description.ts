import { DescriptionAnswer } from '../../schema/api/api.ts'
import { openApiDocument } from '../openapi/document.ts'
import { defineRoute, type Route } from '../route.ts'

/** The API's description of itself. `routes`: all of them, this one included; `basePath`: what their addresses begin with. */
export function descriptionRoutes(
  routes: () => readonly Route[],
  hostVersion: string,
  basePath: string,
): Route[] {
  let document: object | undefined
  return [
    defineRoute({
      method: 'GET',
      path: '/api/openapi.json',
      summary: 'This description (OpenAPI 3.1)',
      early: true,
      answers: { 200: DescriptionAnswer },
      handle: () => ({ body: (document ??= openApiDocument(routes(), hostVersion, basePath)) }),
    }),
  ]
}
