import { manifestJsonSchema } from '../../schema/manifest/manifest.ts'
import { defineRoute, type Route } from '../route.ts'

/** Schemas for editors: `"$schema"` in a plugin.json may point here. */
export function schemaRoutes(): Route[] {
  const text = JSON.stringify(manifestJsonSchema, null, 2)
  return [
    defineRoute({
      method: 'GET',
      path: '/api/schema/plugin.json',
      summary: 'JSON Schema of a plugin manifest',
      early: true,
      answers: { 200: null },
      produces: ['application/schema+json'],
      handle: () => ({ body: text, type: 'application/schema+json; charset=utf-8' }),
    }),
  ]
}
