import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { withMovedItem } from '../../base/moved-item.ts'
import { Icon } from '../icon.tsx'

interface SortableListProps {
  /** What it is a list of: the name of the setting. */
  label: string
  /** What one of it is called: `row`, `value`. */
  noun: string
  count: number
  full: boolean
  /** Single fields side by side with their buttons, not whole forms. */
  flat: boolean
  row(index: number): ComponentChildren
  onAdd(): void
  onRemove(index: number): void
  /** Takes one out, and puts it where then `to` is. */
  onMove(from: number, to: number): void
}

/** Rows that one adds, removes and brings into another order, with the mouse, a finger or the keyboard. */
export function SortableList(props: SortableListProps) {
  const { label, noun, count, full, flat, row, onAdd, onRemove, onMove } = props
  const keys = useRowKeys(count)
  const list = useRef<HTMLOListElement>(null)
  const addButton = useRef<HTMLButtonElement>(null)
  /** What is to have the focus after the next drawing. */
  const focus = useRef<{ index: number; selector: string } | undefined>(undefined)
  const [told, setTold] = useState('')
  // Those that listen to a drag were made when it began; the rows have changed places since.
  const now = useRef(move)
  now.current = move

  useLayoutEffect(() => {
    if (focus.current === undefined) return
    const { index, selector } = focus.current
    focus.current = undefined
    const row = list.current?.children[index]
    const target = row === undefined ? addButton.current : row.querySelector<HTMLElement>(selector)
    target?.focus()
  })

  function move(from: number, to: number): void {
    keys.current = withMovedItem(keys.current, from, to)
    setTold(`${noun} ${from + 1} is now ${noun} ${to + 1} of ${count}`)
    onMove(from, to)
  }

  function add(): void {
    focus.current = { index: count, selector: 'input, select, textarea, [role=switch]' }
    onAdd()
  }

  function remove(index: number): void {
    keys.current = keys.current.filter((_, position) => position !== index)
    setTold(`${noun} ${index + 1} is gone`)
    // After the last one it is the button that adds one.
    focus.current = { index: Math.max(0, Math.min(index, count - 2)), selector: '.handle' }
    onRemove(index)
  }

  function step(index: number, event: KeyboardEvent): void {
    const to = index + (event.key === 'ArrowUp' ? -1 : event.key === 'ArrowDown' ? 1 : 0)
    if (to === index) return
    event.preventDefault()
    if (to < 0 || to >= count) return
    focus.current = { index: to, selector: '.handle' }
    move(index, to)
  }

  function startDrag(index: number): void {
    let from = index
    const end = new AbortController()
    const { signal } = end
    const follow = ({ clientY }: PointerEvent): void => {
      const to = placeAt(list.current, from, clientY)
      if (to === from) return
      now.current(from, to)
      from = to
    }
    addEventListener('pointermove', follow, { signal })
    for (const event of ['pointerup', 'pointercancel']) addEventListener(event, () => end.abort(), { signal })
  }

  return (
    <div class="sortable">
      <ol ref={list} class={flat ? 'setting-rows flat' : 'setting-rows'} aria-label={label}>
        {Array.from({ length: count }, (_, index) => (
          <li key={keys.current[index]} class="setting-row">
            <button
              type="button"
              class="handle quiet"
              aria-label={`Move ${noun} ${index + 1} of ${label}: arrow up or down`}
              title="Drag it, or press arrow up or down"
              onPointerDown={() => startDrag(index)}
              onKeyDown={(event) => step(index, event)}
            >
              <Icon name="move" />
            </button>
            {row(index)}
            <button
              type="button"
              class="quiet small"
              aria-label={`Remove ${noun} ${index + 1} of ${label}`}
              onClick={() => remove(index)}
            >
              Remove
            </button>
          </li>
        ))}
      </ol>
      <p class="hidden" role="status">
        {told}
      </p>
      <button
        ref={addButton}
        type="button"
        class="small"
        disabled={full}
        onClick={add}
        aria-label={`Add a ${noun} to ${label}`}
      >
        Add a {noun}
      </button>
    </div>
  )
}

/** Where the row at `from` belongs while the pointer is at this height. */
function placeAt(list: HTMLOListElement | null, from: number, y: number): number {
  const middles = [...(list?.children ?? [])].map((row) => {
    const { top, height } = row.getBoundingClientRect()
    return top + height / 2
  })
  // Past the middle of another, or two of different height would change places without end.
  const before = middles.findIndex((middle, index) => index < from && y < middle)
  if (before !== -1) return before
  return middles.reduce((place, middle, index) => (index > from && y > middle ? index : place), from)
}

/** Rows have no name of their own: each has a number here that stays with it. */
function useRowKeys(count: number) {
  const keys = useRef<number[]>([])
  const last = useRef(0)
  while (keys.current.length < count) keys.current.push((last.current += 1))
  if (keys.current.length > count) keys.current = keys.current.slice(0, count)
  return keys
}
