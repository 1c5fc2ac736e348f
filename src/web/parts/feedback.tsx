import type { ComponentChildren } from 'preact'
import type { Plugin } from '../base/types.ts'
import type { Remote } from '../store/remote.ts'
import { Icon } from './icon.tsx'
import { LongText } from './long-text.tsx'

export function Loading({ what }: { what: string }) {
  return (
    <p class="hint" role="status">
      Reading {what}…
    </p>
  )
}

interface FailureProps {
  text: string
  onRetry?: () => void
  /** Something else is under way, so that it cannot be tried again yet. */
  busy?: boolean
  /** What one can do about it. */
  children?: ComponentChildren
}

export function Failure({ text, onRetry, busy = false, children }: FailureProps) {
  return (
    <div class="failure" role="alert">
      <Icon name="warning" />
      <p>
        <LongText text={text} /> {children}
      </p>
      {onRetry === undefined ? null : (
        <button type="button" disabled={busy} onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  )
}

/** Of an answer of the host: why it could not be read, or that it is being read; nothing once it is there. */
export function ReadState({ remote, what }: { remote: Omit<Remote<unknown>, 'set'>; what: string }) {
  const { value, error, reload } = remote
  if (error !== '') return <Failure text={error} onRetry={reload} />
  return value === undefined ? <Loading what={what} /> : null
}

/** Something that one should know, and that is no failure. */
export function Note({ children }: { children: ComponentChildren }) {
  return (
    <p class="note">
      <Icon name="warning" />
      <span>{children}</span>
    </p>
  )
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>
}

interface EmptyOfPluginProps {
  plugin: Plugin
  /** Continues its name: `has no objects`. */
  nothing: string
}

/** Of what a plugin has only while it runs. */
export function EmptyOfPlugin({ plugin: { name, state }, nothing }: EmptyOfPluginProps) {
  return (
    <Empty>
      {name} {nothing}
      {state === 'running' ? '' : ' while it is not running'}.
    </Empty>
  )
}
