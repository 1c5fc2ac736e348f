import { useEffect, useRef } from 'preact/hooks'
import { addressOf } from '../base/address.ts'
import { pluginApi, request } from '../base/api.ts'
import { place, pluginPath, setQuery } from '../base/router.ts'
import type { Plugin } from '../base/types.ts'
import { Empty, ReadState } from '../parts/feedback.tsx'
import { useAnswer } from '../store/remote.ts'

export function DocumentsTab({ plugin }: { plugin: Plugin }) {
  const { docs } = plugin
  const file = place.value.query.get('file') ?? docs[0]?.file
  if (file === undefined) return <Empty>{plugin.name} has no documents.</Empty>
  return (
    <div class="documents">
      <div class="tags" role="group" aria-label="Documents">
        {docs.map((document) => (
          <button
            key={document.file}
            type="button"
            class="tag"
            aria-pressed={document.file === file}
            onClick={() => setQuery({ file: document.file })}
          >
            {document.title}
          </button>
        ))}
      </div>
      <DocumentView id={plugin.id} file={file} />
    </div>
  )
}

/** The host has taken out all that acts; this shows the rest in the colours of the page. */
function DocumentView({ id, file }: { id: string; file: string }) {
  const path = pluginApi(id, `/doc?file=${encodeURIComponent(file)}&render=html`)
  const remote = useAnswer(
    path,
    async (signal) => (await request<string>('GET', path, { signal, isText: true })).body,
  )
  const { value } = remote
  const element = useRef<HTMLElement>(null)
  useEffect(() => {
    if (value !== undefined) element.current?.replaceChildren(...contentOf(value, id))
  }, [value, id])
  return (
    <>
      <ReadState remote={remote} what="the document" />
      {value === undefined ? null : <article ref={element} class="panel document" />}
    </>
  )
}

function contentOf(html: string, id: string): Node[] {
  const parsed = new DOMParser().parseFromString(html, 'text/html')
  parsed
    .querySelectorAll('script, style, link, meta, iframe, object, embed, form, base')
    .forEach((found) => found.remove())
  const api = addressOf(pluginApi(id, '/'))
  for (const found of parsed.body.querySelectorAll('*')) {
    for (const { name } of [...found.attributes]) if (/^on|^style$/i.test(name)) found.removeAttribute(name)
    // Ids of the document must not be mistaken for those of the page.
    if (found.id !== '') found.id = `document-${found.id}`
  }
  for (const link of parsed.body.querySelectorAll('a[href]')) {
    const href = link.getAttribute('href') ?? ''
    if (href.startsWith('#')) link.setAttribute('href', `#document-${href.slice(1)}`)
    else if (href.startsWith('doc?')) {
      const target = new URLSearchParams(href.slice(4).split('#', 1)[0]).get('file') ?? ''
      const place = `${pluginPath(id, 'documents')}?file=${encodeURIComponent(target)}`
      link.setAttribute('href', addressOf(place))
    } else if (/^https?:/i.test(href)) link.setAttribute('target', '_blank')
  }
  for (const image of parsed.body.querySelectorAll('img[src]')) {
    const source = image.getAttribute('src') ?? ''
    if (source.startsWith('doc?')) image.setAttribute('src', api + source)
  }
  for (const box of parsed.body.querySelectorAll('input'))
    box.setAttribute('aria-label', box.checked ? 'Done' : 'To do')
  // Wide ones scroll by themselves, also with the keys.
  for (const wide of parsed.body.querySelectorAll('pre, table')) wide.setAttribute('tabindex', '0')
  return [...parsed.body.childNodes].map((node) => document.importNode(node, true))
}
