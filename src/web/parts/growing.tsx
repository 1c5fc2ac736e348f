import { useEffect, useRef, useState } from 'preact/hooks'

interface Growing {
  shown: number
  /** To be placed behind the last item. */
  end: preact.ComponentChild
  /** Back to the first few, when one has gone back to the beginning. */
  reset(): void
}

/**
 * How many items of a long list to show: it grows as its end comes into view, so that a list of hundreds
 * costs no more than a screenful.
 */
export function useGrowing(total: number, step = 25): Growing {
  const [shown, setShown] = useState(step)
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
