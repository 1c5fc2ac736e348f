/**
 * What the back button brings back: the entry of a long list that was at the top. It is kept in the browser's own
 * history, beside the address. What the browser restores by itself is a number of pixels, at a time when the list is
 * short again and most of its entries have an estimated height.
 */

interface ViewPosition {
  /** Which of the page's entries. */
  entry: number
  /** Pixels from the top of the window to that entry. */
  top: number
}

const entries = (): Element[] => [...document.querySelectorAll('main li')]

function storedPosition(): ViewPosition | undefined {
  return (history.state as { position?: ViewPosition } | null)?.position
}

/** Before another view takes the place of this one. */
export function storePosition(): void {
  const all = entries()
  const entry = all.findIndex((each) => each.getBoundingClientRect().bottom > 0)
  const top = all[entry]?.getBoundingClientRect().top
  history.replaceState(top === undefined ? null : { position: { entry, top } satisfies ViewPosition }, '')
}

/** After the browser has gone back to an earlier view, which is drawn before the next frame. */
export function restorePosition(): void {
  const position = storedPosition()
  if (position === undefined) return
  const restore = (): void => {
    const found = entries()[position.entry]
    if (found !== undefined) scrollBy(0, found.getBoundingClientRect().top - position.top)
  }
  requestAnimationFrame(() => {
    restore()
    // Entries that have come into view have their true height now.
    requestAnimationFrame(restore)
  })
}

/** At least as many entries a list needs for the view to be as it was when it was left. */
export function entriesNeeded(): number {
  return (storedPosition()?.entry ?? 0) + 1
}
