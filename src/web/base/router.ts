import { signal } from '@preact/signals'
import { addressOf, pathAt } from './address.ts'
import { restorePosition, storePosition } from './view-position.ts'

/** The address bar is the state of the page: every view can be linked to, and survives a reload. */

interface Place {
  /** Of the host: it begins with a slash. */
  path: string
  query: URLSearchParams
}

function placeAt({ pathname, search }: Pick<Location, 'pathname' | 'search'>): Place {
  // At an address of the host's own it may stand without what a proxy would take off.
  return { path: pathAt(pathname) ?? pathname, query: new URLSearchParams(search) }
}

export const place = signal<Place>(placeAt(location))

/**
 * So many changes of the address bar within a view are written at once, and from then on one in each pause (milliseconds). A
 * slider makes sixty in a second; Safari takes a hundred in half a minute and throws at the next, and Chromium ignores those
 * beyond 200 in ten seconds.
 */
const atOnce = 30
const writePause = 600
let writesLeft = atOnce
/** What the address bar is to have and does not have yet. */
let unwritten: string | undefined

function writeAddress(): void {
  if (unwritten === undefined) return
  history.replaceState(null, '', unwritten)
  unwritten = undefined
}

function writeInTurn(): void {
  if (unwritten === undefined || writesLeft === 0) return
  writeAddress()
  writesLeft -= 1
  setTimeout(
    () => {
      writesLeft += 1
      writeInTurn()
    },
    (atOnce - writesLeft) * writePause,
  )
}

/** `target`: a path of the host, with its query. `replace`: a change of the same view, which the back button should skip. */
export function go(target: string, options: { replace?: boolean } = {}): void {
  const before = place.peek().path
  const address = addressOf(target)
  if (options.replace === true) {
    unwritten = address
    writeInTurn()
  } else {
    // What is left is come back to.
    writeAddress()
    storePosition()
    history.pushState(null, '', address)
  }
  place.value = placeAt(new URL(address, location.href))
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
    // It was of the view that has been left.
    unwritten = undefined
    place.value = placeAt(location)
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
