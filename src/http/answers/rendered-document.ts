import { extname, posix } from 'node:path'
import { runInNewContext } from 'node:vm'
import { marked } from 'marked'
import sanitizeHtml from 'sanitize-html'
import type { PluginDocument } from '../../lifecycle/lifecycle.ts'
import { documentProtection } from './document-answer.ts'
import { escapeMarkup } from './escape-markup.ts'
import type { Answer } from '../route.ts'

/**
 * How long the rendering of one document may hold the host up, in milliseconds. An ordinary one takes a few;
 * there are texts of 64 KiB that keep a Markdown parser busy for many seconds. Long enough for a slow machine.
 */
const renderingTime = 1_000

/** The document as a web page without anything that acts: Markdown rendered, HTML cleaned, other text as it is. */
export function renderedDocument({ content, file, title }: PluginDocument): Answer {
  const text = new TextDecoder().decode(content)
  const inner = renderers[extname(file).toLowerCase()]?.(text, file) ?? asText(text)
  const body = `<!doctype html>\n<meta charset="utf-8">\n<title>${escapeMarkup(title)}</title>\n${inner}\n`
  return { body, type: 'text/html; charset=utf-8', headers: documentProtection }
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
  return `<pre>${escapeMarkup(text)}</pre>`
}
