/**
 * Who works with the keyboard stays where they are: browsers take the focus from what is disabled while something is
 * done, and do not give it back when it can be used again.
 */
export function restoreFocus(): void {
  let last: EventTarget | null = null
  document.addEventListener('focusin', ({ target }) => {
    last = target
  })
  // What is pressed gets the focus after that; elsewhere on the page it is let go of.
  document.addEventListener('pointerdown', () => {
    last = null
  })
  const observer = new MutationObserver((changes) => {
    if (!(last instanceof HTMLElement) || document.activeElement !== document.body) return
    if (last.matches(':disabled') || !changes.some(({ target }) => target === last)) return
    last.focus({ preventScroll: true })
  })
  observer.observe(document, { subtree: true, attributes: true, attributeFilter: ['disabled'] })
}
