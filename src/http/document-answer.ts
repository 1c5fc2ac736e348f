import { extname } from 'node:path'
import { Problem } from '../base/problem.ts'
import type { PluginDocument } from '../lifecycle/lifecycle.ts'
import type { Answer } from './route.ts'

/**
 * A document is written by whoever wrote the plugin. Shown in a browser it gets an origin of its own: no
 * script runs, and nothing of this host can be reached with the reader's rights.
 */
const documentPolicy =
  "sandbox; default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'; frame-ancestors 'self'; " +
  "base-uri 'none'; form-action 'none'"

const protection = {
  'Content-Security-Policy': documentPolicy,
  'Cross-Origin-Resource-Policy': 'same-origin',
}

/** The document as it is; `type` is the content type that belongs to its extension. */
export function plainDocument({ content }: PluginDocument, type: string): Answer {
  return { body: Buffer.from(content), type, headers: protection }
}

const readable = new Set(['.md', '.markdown', '.txt', '.html', '.htm', '.lua', '.json', ''])

/** The document as a web page that shows its text and nothing else. */
export function renderedDocument({ content, file, title }: PluginDocument): Answer {
  if (!readable.has(extname(file).toLowerCase())) {
    throw new Problem('body_invalid', `${file} is no text; ask for it without render=html.`, {
      errors: [{ path: '/render', message: 'is only for documents that are text' }],
    })
  }
  const text = new TextDecoder().decode(content)
  const body = `<!doctype html><meta charset="utf-8"><title>${escapeHtml(title)}</title><pre>${escapeHtml(text)}</pre>\n`
  return { body, type: 'text/html; charset=utf-8', headers: protection }
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}
