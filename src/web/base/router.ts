import { signal } from '@preact/signals'
import { addressOf, pathAt } from './address.ts'
import { restorePosition, storePosition } from './view-position.ts'

/** The address bar is the state of the page: every view can be linked to, and survives a reload. */

interface Place {
  /** Of the host: it begins with a slash. */
  path: string
  query: URLSearchParams
}

function here(): Place {
  // At an address of the host's own it may stand without what a proxy would take off.
  return { path: pathAt(location.pathname) ?? location.pathname, query: new URLSearchParams(location.search) }
}

export const place = signal<Place>(here())

/** `target`: a path of the host, with its query. `replace`: a change of the same view, which the back button should skip. */
export function go(target: string, options: { replace?: boolean } = {}): void {
  const before = place.peek().path
  if (options.replace === true) history.replaceState(null, '', addressOf(target))
  else {
    storePosition()
    history.pushState(null, '', addressOf(target))
  }
  place.value = here()
  if (place.peek().path !== before) scrollTo(0, 0)
}

/** The same view with other parameters; an empty one is removed. */
export function setQuery(changes: Readonly<Record<string, string>>): void {
  const { path, query } = place.peek()
  const next = new URLSearchParams(query)
  for (const [key, value] of Object.entries(changes)) {
    if (value === '') next.delete(key)
    else next.set(key, value)
  }
  // An `@` and a slash may stand in a query as they are, and links stay readable.
  const text = next.toString().replaceAll('%40', '@').replaceAll('%2F', '/')
  go(text === '' ? path : `${path}?${text}`, { replace: true })
}

export function pluginPath(id: string, tab = ''): string {
  return `/plugins/${id}${tab === '' ? '' : `/${tab}`}`
}

/** Follows links within this page without loading it again. */
export function followLinks(): void {
  addEventListener('popstate', () => {
    place.value = here()
    restorePosition()
  })
  addEventListener('click', (event) => {
    const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey
    if (!plain || event.defaultPrevented || !(event.target instanceof Element)) return
    const link = event.target.closest('a')
    if (link === null || link.target !== '' || link.hasAttribute('download')) return
    // In a document of a plugin it may be a mere name, or lead nowhere: then its origin is empty.
    const path = link.origin === location.origin ? pathAt(link.pathname) : undefined
    if (path === undefined || /^\/(api|assets|metrics)\b/.test(path)) return
    if (link.hash !== '' && link.pathname === location.pathname) return
    event.preventDefault()
    go(path + link.search)
  })
}
