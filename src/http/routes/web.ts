import type { Context } from 'koa'
import { lazily } from '../../base/lazily.ts'
import { Problem } from '../../base/problem.ts'
import { type Answer, defineRoute, type Route } from '../route.ts'
import { type WebAsset, webAssets } from '../answers/web-assets.ts'

/** Addresses of pages; the page itself finds out which one it is. The tabs are those that take no command. */
const pagePaths = [
  '/',
  '/plugins',
  '/plugins/:id',
  ...['settings', 'controls', 'objects', 'events', 'logs', 'documents', 'limits', 'history'].map(
    (tab) => `/plugins/:id/${tab}`,
  ),
  '/machines',
  '/machines/:name',
  '/catalog',
  '/history',
  '/hosts',
  '/repositories',
  '/system',
] as const

/** Nothing from elsewhere, nothing inline, in nobody's frame. Images of documents come from this host. */
const pagePolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const pageHeaders = {
  'Content-Security-Policy': pagePolicy,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Frame-Options': 'DENY',
}

/** The user interface. It is no secret; what it shows comes from the API. `basePath`: what its addresses begin with. */
export function webRoutes(basePath: string): Route[] {
  const common = { method: 'GET', open: true, early: true, page: true, answers: { 200: null } } as const
  const page = lazily(() => webAssets().page(basePath))
  return [
    ...pagePaths.map((path) =>
      defineRoute({
        ...common,
        path,
        summary: 'The user interface',
        handle: ({ context }) => answerWith(context, page(), 'no-cache', pageHeaders),
      }),
    ),
    defineRoute({
      ...common,
      path: '/assets/:file',
      summary: 'A file of the user interface',
      handle({ context, parameters: { file = '' } }) {
        const asset = webAssets().files.get(file)
        if (asset === undefined) {
          throw new Problem('not_found', 'The user interface has no such file; load its page again.')
        }
        const headers = { 'Cross-Origin-Resource-Policy': 'same-origin' }
        return answerWith(context, asset, 'public, max-age=31536000, immutable', headers)
      },
    }),
  ]
}

function answerWith(
  context: Context,
  { content, compressed, type, tag }: WebAsset,
  caching: string,
  headers: Readonly<Record<string, string>>,
): Answer {
  const compress = context.acceptsEncodings('gzip', 'identity') === 'gzip'
  const etag = `"${tag}${compress ? '-gzip' : ''}"`
  const all = { ...headers, 'Cache-Control': caching, ETag: etag, Vary: 'Accept-Encoding' }
  context.set('ETag', etag)
  context.status = 200
  // A proxy that compresses makes the tag a weak one, and a browser may have several.
  if (context.fresh) return { status: 304, body: null, type, headers: all }
  return {
    body: compress ? compressed : content,
    type,
    headers: { ...all, ...(compress ? { 'Content-Encoding': 'gzip' } : {}) },
  }
}
