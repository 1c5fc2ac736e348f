import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { entriesNeeded } from '../../base/view-position.ts'

interface InfiniteScroll {
  shown: number
  /** To be placed behind the last item. */
  end: ComponentChildren
  /** Back to the first few, when one has gone back to the beginning. */
  reset(): void
}

/**
 * How many items of a long list to show: it grows as its end comes into view, so that a list of hundreds
 * costs no more than a screenful.
 */
export function useInfiniteScroll(total: number, step = 25): InfiniteScroll {
  const [shown, setShown] = useState(() => Math.ceil(entriesNeeded() / step) * step)
  const element = useRef<HTMLDivElement>(null)
  const more = shown < total
  useEffect(() => {
    const end = element.current
    if (end === null) return undefined
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) setShown((before) => before + step)
      },
      { rootMargin: '600px' },
    )
    observer.observe(end)
    return () => observer.disconnect()
  }, [more, shown, step])
  return { shown, end: more ? <div ref={element} class="list-end" /> : null, reset: () => setShown(step) }
}

interface InfiniteListProps<Item> {
  class: string
  label: string
  items: readonly Item[]
  /** How many come at a time. */
  step?: number
  children(item: Item): ComponentChildren
}

/** A list that grows as one scrolls on. */
export function InfiniteList<Item>({ class: name, label, items, step, children }: InfiniteListProps<Item>) {
  const { shown, end } = useInfiniteScroll(items.length, step)
  return (
    <>
      <ul class={name} aria-label={label}>
        {items.slice(0, shown).map(children)}
      </ul>
      {end}
    </>
  )
}
