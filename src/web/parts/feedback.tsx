import type { ComponentChildren } from 'preact'
import { breakable } from './breakable.tsx'
import { Icon } from './icon.tsx'

export function Loading({ what }: { what: string }) {
  return (
    <p class="hint" role="status">
      Reading {what}…
    </p>
  )
}

export function Failure({ text, onRetry }: { text: string; onRetry?: () => void }) {
  return (
    <div class="failure" role="alert">
      <Icon name="warning" />
      <p>{breakable(text)}</p>
      {onRetry === undefined ? null : (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  )
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>
}
