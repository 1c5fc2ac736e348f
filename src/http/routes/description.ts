import { DescriptionAnswer } from '../../schema/api/api.ts'
import { manifestJsonSchema } from '../../schema/manifest/manifest.ts'
import { openApiDocument } from '../openapi/document.ts'
import { defineRoute, type Route } from '../route.ts'

/**
 * The API's description of itself, and schemas for editors: `"$schema"` in a plugin.json may point here. `routes`: all of them,
 * these included; `basePath`: what their addresses begin with.
 */
export function descriptionRoutes(
  routes: () => readonly Route[],
  hostVersion: string,
  basePath: string,
): Route[] {
  let document: object | undefined
  const schema = JSON.stringify(manifestJsonSchema, null, 2)
  return [
    defineRoute({
      method: 'GET',
      path: '/api/openapi.json',
      summary: 'This description (OpenAPI 3.1)',
      early: true,
      answers: { 200: DescriptionAnswer },
      handle: () => ({ body: (document ??= openApiDocument(routes(), hostVersion, basePath)) }),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/schema/plugin.json',
      summary: 'JSON Schema of a plugin manifest',
      early: true,
      answers: { 200: null },
      produces: ['application/schema+json'],
      handle: () => ({ body: schema, type: 'application/schema+json; charset=utf-8' }),
    }),
  ]
}
