import type { PluginDocument } from '../../lifecycle/lifecycle.ts'
import type { Answer } from '../route.ts'

/**
 * A document is written by whoever wrote the plugin. Shown in a browser it gets an origin of its own: no
 * script runs, and nothing of this host can be reached with the reader's rights.
 */
const documentPolicy =
  "sandbox; default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'; frame-ancestors 'self'; " +
  "base-uri 'none'; form-action 'none'"

export const documentProtection = {
  'Content-Security-Policy': documentPolicy,
  'Cross-Origin-Resource-Policy': 'same-origin',
}

/** Types in which nothing acts, whoever shows them. */
const inert =
  /^(image\/(png|jpeg|gif|webp|avif|bmp|x-icon|vnd\.microsoft\.icon)|audio\/[\w.+-]+|video\/[\w.+-]+|font\/[\w.+-]+|text\/(plain|markdown|csv)|application\/(json|pdf|zip|gzip))$/
/** Of the others, those that a person reads. */
const readable = /^text\/|[/+](xml|json|javascript|ecmascript|node|yaml|toml|sql|x-sh|x-httpd-php)$/

/**
 * The document as it is; `type` is the content type that belongs to its extension. What could act (pages, scripts,
 * styles, SVG and all other XML) is shown as text: this address is of the same origin as the pages of the host.
 */
export function plainDocument({ content }: PluginDocument, type: string): Answer {
  const bare = type.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  const other = readable.test(bare) ? 'text/plain; charset=utf-8' : 'application/octet-stream'
  return { body: Buffer.from(content), type: inert.test(bare) ? type : other, headers: documentProtection }
}
