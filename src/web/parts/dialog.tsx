import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { breakable } from './breakable.tsx'

interface DialogProps {
  title: string
  onClose(): void
  children: ComponentChildren
}

interface ConfirmDialogProps extends DialogProps {
  /** What is done when it is confirmed, and what happens otherwise: the words on the buttons. */
  confirm: string
  cancel: string
  onConfirm(): void
}

/** Asks before something is done that cannot be taken back. */
export function ConfirmDialog({ confirm, cancel, onConfirm, children, ...dialog }: ConfirmDialogProps) {
  const { onClose } = dialog
  return (
    <Dialog {...dialog}>
      {children}
      <div class="actions">
        <button
          type="button"
          class="danger"
          onClick={() => {
            onClose()
            onConfirm()
          }}
        >
          {confirm}
        </button>
        {/* Enter pressed twice, or held, is not to confirm what it has asked for. */}
        <button type="button" autofocus onClick={onClose}>
          {cancel}
        </button>
      </div>
    </Dialog>
  )
}

/** A question in front of the page; the browser keeps the focus inside, Escape closes it, and the focus goes back. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  const id = useId()
  useLayoutEffect(() => {
    const dialog = element.current
    const before = document.activeElement
    dialog?.showModal()
    return () => {
      dialog?.close()
      // The browser does this only for a dialog that is still in the page when it closes.
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={element}
      aria-labelledby={id}
      onCancel={onClose}
      onClose={() => {
        // Browsers tell of it with the next frame: another question may stand there by then.
        if (element.current !== null) onClose()
      }}
    >
      <h2 id={id}>{breakable(title)}</h2>
      {children}
    </dialog>
  )
}
