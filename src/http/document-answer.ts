import { extname, posix } from 'node:path'
import { runInNewContext } from 'node:vm'
import { marked } from 'marked'
import sanitizeHtml from 'sanitize-html'
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

/**
 * How long the rendering of one document may hold the host up, in milliseconds. An ordinary one takes a few;
 * there are texts of 64 KiB that keep a Markdown parser busy for many seconds. Long enough for a slow machine.
 */
const renderingTime = 1_000

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
  return { body: Buffer.from(content), type: inert.test(bare) ? type : other, headers: protection }
}

/** The document as a web page without anything that acts: Markdown rendered, HTML cleaned, other text as it is. */
export function renderedDocument({ content, file, title }: PluginDocument): Answer {
  const text = new TextDecoder().decode(content)
  const inner = renderers[extname(file).toLowerCase()]?.(text, file) ?? asText(text)
  const body = `<!doctype html>\n<meta charset="utf-8">\n<title>${escapeHtml(title)}</title>\n${inner}\n`
  return { body, type: 'text/html; charset=utf-8', headers: protection }
}

type Renderer = (text: string, file: string) => string | undefined

const fromMarkdown: Renderer = (text, file) =>
  withinTime(() => clean(marked.parse(text, { async: false, gfm: true }), file))
const fromHtml: Renderer = (text, file) => withinTime(() => clean(text, file))

const renderers: Readonly<Record<string, Renderer>> = {
  '.md': fromMarkdown,
  '.markdown': fromMarkdown,
  '.html': fromHtml,
  '.htm': fromHtml,
}

/** Undefined when it takes too long, or nests too deeply: then the text is shown as it is. */
function withinTime(render: () => string): string | undefined {
  try {
    // The deadline of a script holds for the functions that it calls, too, and for their regular expressions.
    return String(runInNewContext('render()', { render }, { timeout: renderingTime }))
  } catch {
    return undefined
  }
}

function clean(html: string, file: string): string {
  return sanitizeHtml(html, {
    allowedTags: [...sanitizeHtml.defaults.allowedTags, 'img', 'del', 'ins', 'details', 'summary', 'input'],
    allowedAttributes: {
      '*': ['id', 'title', 'align', 'lang', 'dir'],
      a: ['href', 'name', 'rel'],
      img: ['src', 'alt', 'width', 'height'],
      code: ['class'],
      input: ['type', 'checked', 'disabled'],
      ol: ['start'],
      td: ['colspan', 'rowspan'],
      th: ['colspan', 'rowspan'],
    },
    allowedClasses: { code: [/^language-[\w-]+$/] },
    allowedSchemes: ['http', 'https', 'mailto'],
    allowedSchemesByTag: { img: ['http', 'https', 'data'] },
    transformTags: {
      a: (tagName, { href, ...rest }) => ({
        tagName,
        attribs: {
          ...rest,
          rel: 'noopener noreferrer',
          ...(href === undefined ? {} : { href: documentLink(href, file, '&render=html') }),
        },
      }),
      img: (tagName, { src, ...rest }) => ({
        tagName,
        attribs: { ...rest, ...(src === undefined ? {} : { src: documentLink(src, file, '') }) },
      }),
      // The check boxes of task lists; nothing else that one could fill in.
      input: (_, { checked }) => ({
        tagName: 'input',
        attribs: { type: 'checkbox', disabled: '', ...(checked === undefined ? {} : { checked }) },
      }),
    },
  })
}

/** A link to a file beside this one leads to the address at which that document is served. */
function documentLink(link: string, file: string, suffix: string): string {
  if (/^([a-z][a-z0-9+.-]*:|\/|#|\?|$)/i.test(link)) return link
  const [path = '', fragment] = link.split('#', 2)
  let decoded: string
  try {
    decoded = decodeURIComponent(path)
  } catch {
    return link
  }
  const target = posix.join(posix.dirname(file), decoded)
  return `doc?file=${encodeURIComponent(target)}${suffix}${fragment === undefined ? '' : `#${fragment}`}`
}

function asText(text: string): string {
  return `<pre>${escapeHtml(text)}</pre>`
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}
