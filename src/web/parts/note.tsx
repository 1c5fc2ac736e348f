import type { ComponentChildren } from 'preact'
import { Icon } from './icon.tsx'

/** Something that one should know, and that is no failure. */
export function Note({ children }: { children: ComponentChildren }) {
  return (
    <p class="note">
      <Icon name="warning" />
      <span>{children}</span>
    </p>
  )
}
