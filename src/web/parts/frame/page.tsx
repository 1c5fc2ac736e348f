import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { breakable } from '../breakable.tsx'

interface PageProps {
  title: string
  /** How many there are of what it shows. */
  count?: string | false
  /** Beside the heading. */
  aside?: ComponentChildren
  children: ComponentChildren
}

/** The first page of a visit leaves the focus where the browser has put it. */
let visited = ''

/** A page with its heading, which is read out when one comes here from another page. */
export function Page({ title, count = false, aside, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} – Lupine`
    if (visited !== '' && visited !== title) heading.current?.focus({ preventScroll: true })
    visited = title
  }, [title])
  return (
    <>
      <div class="page-head">
        <h1 ref={heading} tabIndex={-1}>
          {breakable(title)}
        </h1>
        {count === false ? null : <span class="count">{count}</span>}
        {aside}
      </div>
      {children}
    </>
  )
}
