import type { ComponentChildren } from 'preact'
import { useInfiniteScroll } from './infinite-scroll.tsx'

/** Lines at first; more come as one scrolls on. Many lines that all move are what makes a page stutter. */
const firstLines = 40

interface LineListProps<Item extends { key: number }> {
  label: string
  /** Oldest first; the list shows the newest first. */
  items: readonly Item[]
  /** A component of its own each, so that a new line does not draw the others again. */
  line(item: Item): ComponentChildren
}

/** The end of something that goes on and on. */
export function LineList<Item extends { key: number }>({ label, items, line }: LineListProps<Item>) {
  const { shown, end, reset } = useInfiniteScroll(items.length, firstLines)
  return (
    <ul
      class="lines"
      aria-label={label}
      tabIndex={0}
      onScroll={({ currentTarget }) => {
        if (currentTarget.scrollTop === 0) reset()
      }}
    >
      {items
        .slice(-shown)
        .reverse()
        .map((item) => (
          <li key={item.key} class="line-item">
            {line(item)}
          </li>
        ))}
      {end === null ? null : <li>{end}</li>}
    </ul>
  )
}
